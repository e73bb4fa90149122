/** The nodes and edges of a definition, as the API returns it. What has no id, source or target is left out: it cannot be drawn. */
import type { JsonObject } from '../../engine/json.ts';

export interface DrawnNode {
  readonly id: string;
  readonly type: string;
  readonly label: string;
}

export interface DrawnEdge {
  readonly source: string;
  readonly target: string;
  /** undefined for the ordinary output of a node */
  readonly handle: string | undefined;
}

export interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function definitionGraph(nodes: readonly JsonObject[], edges: readonly JsonObject[]): DrawnGraph {
  return {
    nodes: nodes.flatMap((node) => {
      const id = text(node['id']);
      if (id === undefined) return [];
      return [{ id, type: text(node['type']) ?? '', label: text(node['label']) ?? id }];
    }),
    edges: edges.flatMap((edge) => {
      const [source, target, handle] = [text(edge['source']), text(edge['target']), text(edge['sourceHandle'])];
      if (source === undefined || target === undefined) return [];
      return [{ source, target, handle: handle === 'output' ? undefined : handle }];
    }),
  };
}
