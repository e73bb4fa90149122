/** A definition made ready to run: policies filled in, edges on both their ends, computed once per version. */
import type { IterationKey, NodeId, WorkflowName } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import type { DurationMs, Instant } from '../time.ts';
import type { EdgeCondition, MergeStrategy, WorkflowOptions } from './definition.ts';
import type { PinnedOutput } from './pinned-outputs.ts';
import type { Outcome } from './outcome.ts';
import type { ContextView } from './context.ts';

/** What every node has, whatever its type; `lib/nodes` reads it from the node's config. */
export interface NodePolicy {
  readonly outputVariable?: string;
  readonly joinMode: 'all' | 'any';
  readonly errorHandling: 'continue' | 'fail_workflow';
  readonly onParentFailure: 'skip' | 'propagate' | 'substitute_default';
  readonly merge: MergeStrategy;
  readonly retry: RetryPolicy;
  readonly timeoutMs: DurationMs;
  readonly isDisabled: boolean;
}

export interface PlanEdge {
  readonly source: NodeId;
  readonly target: NodeId;
  readonly sourceHandle?: string;
  readonly sourceOutputKey?: string;
  readonly targetParamLabel?: string;
  readonly mergeStrategy?: MergeStrategy;
  /** it leads from a loop into its body, and is live from the beginning of each pass */
  readonly isEntry?: true;
  readonly condition?: EdgeCondition;
}

export interface PlanNode {
  readonly id: NodeId;
  readonly type: string;
  readonly label?: string;
  readonly config: JsonObject;
  readonly policy: NodePolicy;
  /** decided inside the commit that makes it ready: it needs nothing but the context and the time */
  readonly isPure: boolean;
  /** worth a NODE_STARTED commit of its own when it is taken from the queue: it may take long */
  readonly recordsStart: boolean;
  /** it takes its body through the items it comes to */
  readonly isLoop: boolean;
  /** the loop whose body it is in, the innermost; absent: it is in none */
  readonly loop?: NodeId;
  readonly inbound: readonly PlanEdge[];
  /** of a loop, without those into its body */
  readonly outbound: readonly PlanEdge[];
  /** longest distance from a root */
  readonly wave: number;
}

export interface PlanLoop {
  /** the nodes of one pass; of a loop among them itself, and not what lies in it */
  readonly body: readonly PlanNode[];
  /** the nodes whose outputs are the result of a pass: those that nothing follows when they end well */
  readonly resultNodes: readonly PlanNode[];
  /** the nodes that its edges lead to */
  readonly entries: readonly PlanNode[];
  /** the nodes that a pass ends with */
  readonly leaves: readonly PlanNode[];
}

/** A node in one pass of the loops around it. */
export interface PlanNodeRef {
  readonly node: PlanNode;
  readonly iteration: IterationKey;
}

export interface Plan {
  readonly name: WorkflowName;
  readonly version: number;
  readonly options: WorkflowOptions;
  readonly nodes: ReadonlyMap<NodeId, PlanNode>;
  /** of the graph outside all loops, as the leaves are */
  readonly roots: readonly PlanNode[];
  readonly leaves: readonly PlanNode[];
  readonly loops: ReadonlyMap<NodeId, PlanLoop>;
  /** of a test run: nodes that are not run, and what they end with instead */
  readonly pinned?: ReadonlyMap<NodeId, PinnedOutput>;
}

/** What an attempt is given: the context pinned by its dispatch, and the inputs that its edges brought. */
export interface NodeInput {
  readonly context: ContextView;
  readonly inputs: JsonObject;
  readonly iteration: IterationKey;
}

/** Runs a pure node. Given to the engine by the service; the engine does not know the types. */
export type EvaluatePure = (node: PlanNode, input: NodeInput, now: Instant) => Outcome;
