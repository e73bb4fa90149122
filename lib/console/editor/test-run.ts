/** What a test run of the edited definition gave, by node. */
import type { RunNode } from '../api.ts';

export type NodeResults = ReadonlyMap<string, Pick<RunNode, 'status' | 'output' | 'error' | 'durationMs' | 'isPinned'>>;

export const noResults: NodeResults = new Map();

/** The nodes of a run; a node inside a loop counts by its last iteration. */
export const resultsOf = (nodes: readonly RunNode[]): NodeResults => new Map(nodes.map((node) => [node.nodeId, node]));
