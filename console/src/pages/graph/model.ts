// The part of the graph that is shown: the entities that a person opened, and what they are related to.
import type { Relation } from './query.ts';

/** More would be neither legible nor quick to lay out. */
export const MAX_ENTITIES = 300;

export interface Expansion {
  /** As it was asked for. */
  asked: string;
  key: string;
  name: string;
  /** All its names, normalised. */
  names: readonly string[];
  relations: readonly Relation[];
  hasMore: boolean;
}

export interface Entity {
  key: string;
  name: string;
  isOpen: boolean;
  hasMore: boolean;
  /** How many relations lead to or from it, of those that are shown. */
  degree: number;
}

export interface Edge {
  key: string;
  from: string;
  to: string;
  type: string;
  confidence: number;
  scopes: string[];
  /** A relation has a row for each audience that states it. */
  ids: string[];
}

export interface Drawing {
  entities: Map<string, Entity>;
  edges: Map<string, Edge>;
  isFull: boolean;
}

/** As the database compares names. */
export const keyOf = (name: string): string => name.normalize('NFKC').toLowerCase().trim().replace(/\s+/g, ' ');

export function drawingOf(expansions: readonly Expansion[]): Drawing {
  const keyOfName = new Map(expansions.flatMap(({ key, names }) => names.map((name) => [name, key] as const)));
  const drawing: Drawing = { entities: new Map(), edges: new Map(), isFull: false };
  for (const { key, name, hasMore } of expansions)
    drawing.entities.set(key, { key, name, isOpen: true, hasMore, degree: 0 });
  for (const { relations } of expansions) {
    for (const relation of relations) {
      const from = keyOfName.get(relation.sourceNormalized) ?? relation.sourceNormalized;
      const to = keyOfName.get(relation.targetNormalized) ?? relation.targetNormalized;
      if (addEntity(drawing, from, relation.sourceEntity) && addEntity(drawing, to, relation.targetEntity)) {
        addEdge(drawing, from, to, relation);
      }
    }
  }
  for (const { from, to } of drawing.edges.values()) {
    drawing.entities.get(from)!.degree += 1;
    if (to !== from) drawing.entities.get(to)!.degree += 1;
  }
  return drawing;
}

function addEntity(drawing: Drawing, key: string, name: string): boolean {
  if (drawing.entities.has(key)) return true;
  if (drawing.entities.size >= MAX_ENTITIES) {
    drawing.isFull = true;
    return false;
  }
  drawing.entities.set(key, { key, name, isOpen: false, hasMore: false, degree: 0 });
  return true;
}

function addEdge(
  { edges }: Drawing,
  from: string,
  to: string,
  { relationshipId, relationshipType: type, confidence, scope }: Relation,
): void {
  const key = JSON.stringify([from, type, to]);
  const edge = edges.get(key);
  if (!edge) {
    edges.set(key, { key, from, to, type, confidence, scopes: [scope], ids: [relationshipId] });
  } else if (!edge.ids.includes(relationshipId)) {
    edge.ids.push(relationshipId);
    if (!edge.scopes.includes(scope)) edge.scopes.push(scope);
    edge.confidence = Math.max(edge.confidence, confidence);
  }
}

/** The forms of lines that it needs: each one that the renderer has to know makes its programs longer to compile. */
export function formsOf({ edges }: Drawing): { hasLoops: boolean; hasParallels: boolean } {
  const pairs = [...edges.values()].map(({ from, to }) => JSON.stringify([from, to].sort()));
  return {
    hasLoops: [...edges.values()].some(({ from, to }) => from === to),
    hasParallels: new Set(pairs).size < pairs.length,
  };
}

export const edgesOf = ({ edges }: Drawing, key: string): Edge[] =>
  [...edges.values()].filter(({ from, to }) => from === key || to === key).sort((a, b) => b.confidence - a.confidence);

/** 'depends_on' is shown as 'depends on'. */
export const typeText = (type: string): string => type.replaceAll('_', ' ');
