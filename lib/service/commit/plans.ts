/** The service's view of graphs: the cache of compiled plans, the evaluation of pure nodes, and the function that runs an attempt. */
import { LRUCache } from 'lru-cache';
import type { UnsavedGraph } from '../../codec/definition.ts';
import type { WorkflowVersion } from '../../engine/graph/definition.ts';
import type { Outcome } from '../../engine/graph/outcome.ts';
import { pinnedOutputsById } from '../../engine/graph/pinned-outputs.ts';
import type { EvaluatePure, NodeInput, Plan, PlanNode } from '../../engine/graph/plan.ts';
import { type Attempt, type Scope, workflowName } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { CarriedGraph, PinnedVersion } from '../../engine/log/commit.ts';
import type { DurationMs } from '../../engine/time.ts';
import type { Trace } from '../../engine/trace.ts';
import type { Deps } from '../deps.ts';
import { readTestGraph } from '../run-log/test-graph.ts';

/** The node types as the service sees them: they compile a version to a plan and evaluate pure nodes. The service depends on no type. */
export interface GraphTypes {
  /** Compiles a published version to a plan. */
  compile(version: WorkflowVersion): Plan;
  readonly evaluate: EvaluatePure;
}

/**
 * Runs one attempt of a node that is not pure. Errors of the author or of an external service are outcomes, not exceptions. It rejects
 * with `TimeSliceExceeded` when the node's scripts have used their time slice.
 */
export type RunAttempt = (
  node: PlanNode,
  input: NodeInput,
  attempt: {
    readonly number: Attempt;
    /** the run's scope */
    readonly scope: Scope;
    readonly signal: AbortSignal;
    /** time that scripts may take before the attempt moves to the slow lane; absent: up to their own limits */
    readonly timeSlice?: DurationMs;
    /** appends partial output to the node's stream for subscribers; the outcome must contain the whole output */
    readonly append: (text: string) => void;
    /** the run's trace, with a span for this attempt; absent if the run has no trace */
    readonly trace?: Trace;
    /** idempotency key for external services: the same for each attempt of this node */
    readonly token: string;
  },
) => Promise<{
  readonly outcome: Outcome;
  readonly printed: readonly string[];
  /** CPU time of the node's scripts; absent: it ran none, or the time is unknown */
  readonly cpuMs?: number;
}>;

/** Size of the cache. A published version never changes, so a cached plan is never stale. */
const maxPlans = 100;

/** The plans of pinned versions, compiled once per process and cached. */
export class Plans {
  readonly #types: GraphTypes;
  readonly #cached = new LRUCache<string, { readonly version: WorkflowVersion; readonly plan: Plan }>({ max: maxPlans });

  constructor(types: GraphTypes) {
    this.#types = types;
  }

  async of(deps: Pick<Deps, 'workflows' | 'log'>, scope: Scope, pinned: PinnedVersion | CarriedGraph): Promise<Plan> {
    const cached = this.#cached.get(keyOf(scope, pinned));
    if (cached !== undefined) return cached.plan;
    if ('carriedBy' in pinned) return this.addTestGraph(pinned, await readTestGraph(deps, pinned.carriedBy));
    const version = await deps.workflows.version(scope, workflowName(pinned.name), pinned.version);
    invariant(version !== undefined, `version ${pinned.version} of workflow ${pinned.name} is missing, but a run pins it`);
    return this.add(scope, version);
  }

  /** A published version; undefined if there is none. A version with a cached plan is not read again. */
  async version(deps: Pick<Deps, 'workflows'>, scope: Scope, pinned: PinnedVersion): Promise<WorkflowVersion | undefined> {
    const cached = this.#cached.get(keyOf(scope, pinned));
    return cached?.version ?? deps.workflows.version(scope, workflowName(pinned.name), pinned.version);
  }

  /** The plan of a version that the caller has already read. */
  add(scope: Scope, version: WorkflowVersion): Plan {
    const name = keyOf(scope, version);
    const cached = this.#cached.get(name);
    if (cached !== undefined) return cached.plan;
    return this.#add(name, version, this.#types.compile(version));
  }

  /** The plan of the unsaved graph of a test run, including its pinned outputs. */
  addTestGraph(carried: CarriedGraph, { definition, pinned }: UnsavedGraph): Plan {
    const version = { ...definition, version: carried.version };
    const plan = { ...this.#types.compile(version), pinned: pinnedOutputsById(definition, pinned) };
    return this.#add(keyOf(carried.carriedBy, carried), version, plan);
  }

  #add(name: string, version: WorkflowVersion, plan: Plan): Plan {
    this.#cached.set(name, { version, plan });
    return plan;
  }

  get evaluate(): EvaluatePure {
    return this.#types.evaluate;
  }
}

const keyOf = (scope: Scope, pinned: PinnedVersion | CarriedGraph): string => {
  const testRunKey = 'carriedBy' in pinned ? [pinned.carriedBy.runId] : [];
  return [scope.projectId, scope.environment, pinned.name, pinned.version, ...testRunKey].join('#');
};
