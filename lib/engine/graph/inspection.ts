/** What a node type says about one of its nodes, before anything runs. `lib/nodes` answers; the graph's rules ask. */
import type { NodeDefinition } from './definition.ts';
import type { FindingCode } from './findings.ts';
import type { NodePolicy } from './plan.ts';

/** What the graph's rules must know of a node whose config could be read. */
export interface NodeFacts {
  readonly policy: Pick<NodePolicy, 'outputVariable' | 'joinMode' | 'onParentFailure'>;
  /** every name an edge may leave it by; none for an end */
  readonly handles: readonly string[];
  /** it begins a run, and nothing may lead into it */
  readonly isTrigger: boolean;
  /** it takes what lies behind its way out `loop` through the items it comes to */
  readonly isLoop?: boolean;
}

interface NodeInspection {
  /** places are relative to the node: `/config/code` */
  readonly findings: readonly { readonly code: FindingCode; readonly place: string; readonly message: string }[];
  /** absent where the type is not known or the config too broken to tell */
  readonly facts?: NodeFacts;
}

export type InspectNode = (node: NodeDefinition) => NodeInspection;
