// Places entities so that related ones are near each other. The same graph is always laid out alike.
import type Graph from 'graphology';
import forceAtlas2 from 'graphology-layout-forceatlas2';
import type { Drawing } from './model.ts';

/** The turn by which points on a spiral spread evenly. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Makes `graph` hold what `drawing` holds, and says whether that changed it. What is new begins beside what it is related to. */
export function fill(graph: Graph, { entities, edges }: Drawing, start: string): boolean {
  graph.forEachEdge((key) => {
    if (!edges.has(key)) graph.dropEdge(key);
  });
  graph.forEachNode((key) => {
    if (!entities.has(key)) graph.dropNode(key);
  });
  let added = 0;
  for (const [key, { name }] of entities) {
    if (graph.hasNode(key)) continue;
    const neighbour = [...edges.values()]
      .flatMap(({ from, to }) => (from === key ? [to] : to === key ? [from] : []))
      .find((one) => graph.hasNode(one));
    const { x = 0, y = 0 } = neighbour ? graph.getNodeAttributes(neighbour) : {};
    added += 1;
    const distance = key === start ? 0 : 1 + 0.05 * added;
    graph.addNode(key, {
      label: name,
      x: x + distance * Math.cos(added * GOLDEN_ANGLE),
      y: y + distance * Math.sin(added * GOLDEN_ANGLE),
    });
  }
  let isChanged = added > 0;
  for (const [key, { from, to, type, confidence }] of edges) {
    if (graph.hasEdge(key)) continue;
    graph.addDirectedEdgeWithKey(key, from, to, { label: type.replaceAll('_', ' '), weight: confidence });
    isChanged = true;
  }
  return isChanged;
}

/** So many steps take some milliseconds. */
const SLICE = 20;

/** Moves entities until related ones are near each other, in slices, between which the page answers. Nothing moves before the last one. */
export async function settle(graph: Graph, signal: AbortSignal): Promise<void> {
  const isLarge = graph.order > 150;
  const moved = graph.copy();
  for (let steps = graph.order < 2 ? 0 : isLarge ? 160 : 400; steps > 0; steps -= SLICE) {
    forceAtlas2.assign(moved, {
      iterations: SLICE,
      settings: { gravity: 0.6, scalingRatio: 12, slowDown: 4, barnesHutOptimize: isLarge },
    });
    await new Promise((resolve) => setTimeout(resolve));
    if (signal.aborted) return;
  }
  graph.updateEachNodeAttributes((key, attributes) => {
    const { x, y } = moved.getNodeAttributes(key);
    return { ...attributes, x, y };
  });
}
