import type Graph from 'graphology';
import Sigma, { DEFAULT_STYLES } from 'sigma';
import { extremityArrow, layerPlain, pathCurved, pathLine, pathLoop } from 'sigma/rendering';
import type { Palette } from './palette.ts';

/** Pixels. */
const NARROW = 480;

/** Draws `graph` into `container`. Throws where the browser has no WebGL. */
export function createRenderer(
  graph: Graph,
  container: HTMLElement,
  { ink, soft, line, accent, paper, open }: Palette,
): Sigma {
  // A narrow drawing has no room for labels, neither beside nodes nor along edges.
  const isNarrow = container.clientWidth < NARROW;
  return new Sigma(graph, container, {
    primitives: {
      edges: {
        // Several relations of the same two entities are drawn as curves beside each other.
        paths: [pathLine(), pathLoop(), pathCurved()],
        extremities: [extremityArrow({ lengthRatio: 5, widthRatio: 4 })],
        layers: [layerPlain()],
        defaultHead: 'arrow',
      },
    },
    styles: {
      nodes: {
        ...DEFAULT_STYLES.nodes,
        size: { attribute: 'size' },
        color: ({ isSelected, isOpen }: Record<string, unknown>) => (isSelected ? accent : isOpen ? open : soft),
        cursor: 'pointer',
        labelColor: ink,
        labelSize: isNarrow ? 11 : 13,
        labelPosition: isNarrow ? 'below' : 'right',
        labelFont: 'system-ui, sans-serif',
        labelVisibility: 'visible',
        labelBackgroundColor: paper,
        labelBackgroundPadding: 2,
        backdropColor: paper,
        backdropShadowColor: line,
      },
      edges: {
        ...DEFAULT_STYLES.edges,
        size: ({ isSelected, isNear }: Record<string, unknown>) => (isSelected ? 3 : isNear ? 2 : 1.2),
        color: ({ isSelected, isNear }: Record<string, unknown>) => (isSelected ? accent : isNear ? soft : line),
        head: 'arrow',
        parallelPath: 'curved',
        selfLoopPath: 'loop',
        labelColor: soft,
        labelSize: 11,
        labelFont: 'system-ui, sans-serif',
        labelBackgroundColor: paper,
        labelBackgroundPadding: 2,
        cursor: 'pointer',
      },
    },
    settings: {
      enableEdgeEvents: true,
      renderEdgeLabels: !isNarrow,
      edgePickingPadding: 6,
      nodePickingPadding: 4,
      nodeLabelEvents: 'extend',
      edgeLabelEvents: 'extend',
      // Two clicks are two clicks: they open, they don't zoom.
      doubleClickZoomingRatio: 1,
      stagePadding: isNarrow ? 16 : 40,
      itemSizesReference: 'screen',
      autoRescaleContent: 'labels',
      enableCameraRotation: false,
      edgeLabelAnchors: 'allNodes',
      gestureTarget: 'shared',
      labelDensity: 2,
      minCameraRatio: 0.1,
      maxCameraRatio: 4,
    },
  });
}
