import type Graph from 'graphology';
import Sigma, { DEFAULT_STYLES } from 'sigma';
import { extremityArrow, layerPlain, pathCurved, pathLine, pathLoop } from 'sigma/rendering';
import type { formsOf } from './model.ts';
import type { Palette } from './palette.ts';

/** Pixels. */
const NARROW = 480;

/** More texts along edges would lie on each other. */
const MOST_EDGE_LABELS = 80;

/**
 * Draws `graph` into `container`. Throws where the browser has no WebGL. Without a graphics card compiling its programs takes most of the
 * time, so that it has only those it needs, and the ones of texts along edges after the first picture.
 */
export function createRenderer(
  graph: Graph,
  container: HTMLElement,
  { ink, soft, line, accent, paper, open }: Palette,
  { hasLoops, hasParallels }: ReturnType<typeof formsOf>,
): Sigma {
  // A narrow drawing has no room for labels of nodes and edges.
  const isNarrow = container.clientWidth < NARROW;
  const sigma = new Sigma(graph, container, {
    primitives: {
      edges: {
        paths: [pathLine(), ...(hasLoops ? [pathLoop()] : []), ...(hasParallels ? [pathCurved()] : [])],
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
        // Several relations of the same two entities are drawn as curves beside each other.
        ...(hasParallels && { parallelPath: 'curved' }),
        ...(hasLoops && { selfLoopPath: 'loop' }),
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
      renderEdgeLabels: false,
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
  requestAnimationFrame(() => {
    setTimeout(() => {
      // It may be gone by then.
      if (container.firstChild && !isNarrow && graph.size <= MOST_EDGE_LABELS)
        sigma.setSetting('renderEdgeLabels', true);
    });
  });
  return sigma;
}
