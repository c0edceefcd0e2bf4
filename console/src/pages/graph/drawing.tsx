// The drawing. The list beside it says the same, so readers of screens skip it, and keyboards have the buttons of the list.
import { MultiDirectedGraph } from 'graphology';
import { useEffect, useRef, useState } from 'preact/hooks';
import type Sigma from 'sigma';
import { Button } from '../../components/button.tsx';
import { useStore } from '../../lib/store.ts';
import { theme } from '../../lib/theme.ts';
import { fill, settle } from './layout.ts';
import { type Drawing, formsOf } from './model.ts';
import { paletteOf } from './palette.ts';
import { createRenderer } from './renderer.ts';

interface DrawnProps {
  drawing: Drawing;
  start: string;
  selected: string;
  edge: string | null;
  isBusy: boolean;
  onEntity: (key: string) => void;
  onEdge: (key: string) => void;
}

export function Drawn({ drawing, start, selected, edge, isBusy, onEntity, onEdge }: DrawnProps) {
  const container = useRef<HTMLDivElement>(null);
  const [graph] = useState(() => new MultiDirectedGraph());
  const [renderer, setRenderer] = useState<Sigma | null>(null);
  const [isImpossible, setImpossible] = useState(false);
  const [isSettled, setSettled] = useState(false);
  const [isPlaced, setPlaced] = useState(false);
  const settling = useRef<AbortController | null>(null);
  const { hasLoops, hasParallels } = formsOf(drawing);
  const chosen = useStore(theme);
  const isDark = usePrefersDark();
  const acts = useRef({ onEntity, onEdge });
  acts.current = { onEntity, onEdge };

  useEffect(() => {
    if (!isPlaced) return;
    const element = container.current!;
    let made: Sigma;
    try {
      made = createRenderer(graph, element, paletteOf(element), { hasLoops, hasParallels });
    } catch {
      // WebGL is switched off or missing.
      setImpossible(true);
      return;
    }
    made.on('clickNode', ({ node }) => acts.current.onEntity(node));
    made.on('clickEdge', (event) => acts.current.onEdge(event.edge));
    setRenderer(made);
    return () => made.kill();
  }, [graph, chosen, isDark, isPlaced, hasLoops, hasParallels]);

  useEffect(() => {
    if (fill(graph, drawing, start)) {
      settling.current?.abort();
      settling.current = new AbortController();
      const { signal } = settling.current;
      setSettled(false);
      void settle(graph, signal).then(() => {
        if (signal.aborted) return;
        setSettled(true);
        setPlaced(true);
      });
    }
    for (const [key, { isOpen, degree }] of drawing.entities) {
      graph.mergeNodeAttributes(key, {
        isOpen,
        isStart: key === start,
        isSelected: key === selected,
        size: Math.min(5 + Math.sqrt(degree) * 2.5, 14),
      });
    }
    graph.forEachEdge((key, _, from, to) => {
      graph.mergeEdgeAttributes(key, { isSelected: key === edge, isNear: from === selected || to === selected });
    });
  }, [graph, drawing, start, selected, edge]);

  useEffect(() => () => settling.current?.abort(), []);

  const camera = renderer?.getCamera();
  const isReady = isSettled && !isBusy && (renderer !== null || isImpossible);
  return (
    <div
      class="drawing"
      data-drawn={renderer ? `${drawing.entities.size} ${drawing.edges.size}` : undefined}
      aria-busy={!isReady}
    >
      <div ref={container} class="drawing-canvas" aria-hidden="true" />
      {isImpossible && <p class="drawing-note">This browser draws no WebGL. The list says the same.</p>}
      <div class="drawing-tools">
        <Button label="Zoom in" icon="M10 4v12M4 10h12" onClick={() => void camera?.zoomIn({ duration: 150 })} />
        <Button label="Zoom out" icon="M4 10h12" onClick={() => void camera?.zoomOut({ duration: 150 })} />
        <Button
          label="Show all"
          icon="M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4"
          onClick={() => void camera?.reset({ duration: 150 })}
        />
      </div>
      <p class="unseen" role="status">
        {!isReady ? 'Drawing' : `${drawing.entities.size} entities and ${drawing.edges.size} relations are drawn.`}
      </p>
    </div>
  );
}

function usePrefersDark(): boolean {
  const [query] = useState(() => matchMedia('(prefers-color-scheme: dark)'));
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const update = () => setDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, [query]);
  return isDark;
}
