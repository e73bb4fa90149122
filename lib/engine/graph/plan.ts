/** A compiled definition: policies filled in, edges on both their ends. Computed once per version. */
import type { IterationKey, NodeId, WorkflowName } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { RetryPolicy } from '../retry.ts';
import type { DurationMs, Instant } from '../time.ts';
import type { EdgeCondition, MergeStrategy, WorkflowOptions } from './definition.ts';
import type { PinnedOutput } from './pinned-outputs.ts';
import type { Outcome } from './outcome.ts';
import type { ContextView } from './context.ts';

/**
 * When a node with inbound edges fires: when all of them are resolved and one is live, on the first live one, or when all of them are
 * resolved and no parent failed.
 */
export const joinModes = ['all', 'any', 'allSucceeded'] as const;
export type JoinMode = (typeof joinModes)[number];

/** Settings common to all node types; `lib/nodes` parses them from the node's config. */
export interface NodePolicy {
  readonly outputVariable?: string;
  readonly joinMode: JoinMode;
  readonly errorHandling: 'continue' | 'fail_workflow';
  readonly onParentFailure: 'skip' | 'propagate' | 'substitute_default';
  readonly merge: MergeStrategy;
  readonly retry: RetryPolicy;
  readonly timeoutMs: DurationMs;
  readonly isDisabled: boolean;
  /** another execution of an attempt changes nothing outside the run, so its dispatch and its result may share a commit */
  readonly isIdempotent?: boolean;
}

export interface PlanEdge {
  readonly source: NodeId;
  readonly target: NodeId;
  readonly sourceHandle?: string;
  readonly sourceOutputKey?: string;
  readonly targetParamLabel?: string;
  readonly mergeStrategy?: MergeStrategy;
  /** leads from a loop into its body, and is live from the start of each iteration */
  readonly isEntry?: true;
  readonly condition?: EdgeCondition;
}

export interface PlanNode {
  readonly id: NodeId;
  readonly type: string;
  readonly label?: string;
  readonly config: JsonObject;
  readonly policy: NodePolicy;
  /** decided inside the commit that makes it ready: it needs only the context and the time */
  readonly isPure: boolean;
  /** when taken from the queue, it gets a NODE_STARTED commit of its own, because it may take long */
  readonly recordsStart: boolean;
  /** of an end node: when it completes, the run ends with its result, and everything that is open is cancelled */
  readonly endsRun?: true;
  /** runs its body once per item */
  readonly isLoop: boolean;
  /** the innermost loop whose body contains it; absent: none */
  readonly loop?: NodeId;
  readonly inbound: readonly PlanEdge[];
  /** for a loop, without the edges into its body; edges to ends that end the run come first */
  readonly outbound: readonly PlanEdge[];
  /** longest distance from a root */
  readonly wave: number;
}

export interface PlanLoop {
  /** nodes of one iteration; includes a nested loop, but not the nodes in its body */
  readonly body: readonly PlanNode[];
  /** nodes whose outputs are the result of an iteration: no edge follows them when they succeed */
  readonly resultNodes: readonly PlanNode[];
  /** targets of the loop's entry edges */
  readonly entries: readonly PlanNode[];
  /** last nodes of an iteration */
  readonly leaves: readonly PlanNode[];
}

/** A node and the iteration it belongs to. */
export interface PlanNodeRef {
  readonly node: PlanNode;
  readonly iteration: IterationKey;
}

export interface Plan {
  readonly name: WorkflowName;
  readonly version: number;
  readonly options: WorkflowOptions;
  readonly nodes: ReadonlyMap<NodeId, PlanNode>;
  /** outside all loops, like `leaves` */
  readonly roots: readonly PlanNode[];
  readonly leaves: readonly PlanNode[];
  readonly loops: ReadonlyMap<NodeId, PlanLoop>;
  /** in a test run: nodes that do not run, and their outputs */
  readonly pinned?: ReadonlyMap<NodeId, PinnedOutput>;
}

/** The input of an attempt: the context as of its dispatch, and the values of its edges. */
export interface NodeInput {
  readonly context: ContextView;
  readonly inputs: JsonObject;
  readonly iteration: IterationKey;
}

/** Runs a pure node. The service supplies it; the engine does not know node types. */
export type EvaluatePure = (node: PlanNode, input: NodeInput, now: Instant) => Outcome;
