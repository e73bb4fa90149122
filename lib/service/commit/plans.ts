/** What the service needs to know of graphs: plans of pinned versions, pure deciders, and how an attempt is run. */
import { type LoadedPayloads } from '../../engine/graph/context-at.ts';
import type { DecideTools } from '../../engine/graph/draft.ts';
import type { Outcome } from '../../engine/graph/outcome.ts';
import { pinnedOutputsById } from '../../engine/graph/pinned-outputs.ts';
import type { EvaluatePure, NodeInput, Plan, PlanNode } from '../../engine/graph/plan.ts';
import type { WorkflowVersion } from '../../engine/graph/definition.ts';
import { type Attempt, type Scope, workflowName } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { CarriedGraph, PinnedVersion } from '../../engine/log/commit.ts';
import type { Head } from '../../engine/log/head.ts';
import type { DurationMs } from '../../engine/time.ts';
import type { Trace } from '../../engine/trace.ts';
import { childRunId } from './child-run-id.ts';
import { type UnsavedGraph } from '../../codec/definition.ts';
import { readTestGraph } from '../run-log/test-graph.ts';
import type { Deps } from '../deps.ts';

/** The node types as the service sees them: it asks for a plan and for pure answers, never for a type. */
export interface GraphTypes {
  /** A published version made ready to run. */
  compile(version: WorkflowVersion): Plan;
  readonly evaluate: EvaluatePure;
}

/**
 * Runs one attempt of a node that is not pure. It never throws for what the author or the world did; it rejects with `TimeSliceExceeded`
 * where scripts of it have spent their first slice.
 */
export type RunAttempt = (
  node: PlanNode,
  input: NodeInput,
  attempt: {
    readonly number: Attempt;
    /** of the run */
    readonly scope: Scope;
    readonly signal: AbortSignal;
    /** how long scripts may take before the attempt goes on in the slow lane; absent: as long as their limits say */
    readonly firstSlice?: DurationMs;
    /** what comes first of the result, text by text, for whoever watches; the outcome must hold the whole */
    readonly append: (text: string) => void;
    /** of the run, with a span of this attempt; absent where the run knows none */
    readonly trace?: Trace;
    /** the same for each attempt of this node: whoever is asked twice can tell */ readonly token: string;
  },
) => Promise<{ readonly outcome: Outcome; readonly printed: readonly string[] }>;

/** Versions kept ready; a version never changes once published, so a kept plan is never stale. */
const maxPlans = 100;

/** The plans of pinned versions, compiled once per process. */
export class Plans {
  readonly #types: GraphTypes;
  readonly #cached = new Map<string, { readonly version: WorkflowVersion; readonly plan: Plan }>();

  constructor(types: GraphTypes) {
    this.#types = types;
  }

  async of(deps: Pick<Deps, 'workflows' | 'log'>, scope: Scope, pinned: PinnedVersion | CarriedGraph): Promise<Plan> {
    const cached = this.#cached.get(keyOf(scope, pinned));
    if (cached !== undefined) return cached.plan;
    if ('carriedBy' in pinned) return this.addTestGraph(pinned, await readTestGraph(deps, pinned.carriedBy));
    const version = await deps.workflows.version(scope, workflowName(pinned.name), pinned.version);
    invariant(version !== undefined, `version ${pinned.version} of ${pinned.name}, which a run pins, is gone`);
    return this.add(scope, version);
  }

  /** A published version; undefined where there is none. Of one whose plan is ready nothing is read. */
  async version(deps: Pick<Deps, 'workflows'>, scope: Scope, pinned: PinnedVersion): Promise<WorkflowVersion | undefined> {
    const cached = this.#cached.get(keyOf(scope, pinned));
    return cached?.version ?? deps.workflows.version(scope, workflowName(pinned.name), pinned.version);
  }

  /** The plan of a version already at hand. */
  add(scope: Scope, version: WorkflowVersion): Plan {
    const name = keyOf(scope, version);
    const cached = this.#cached.get(name);
    if (cached !== undefined) return cached.plan;
    return this.#add(name, version, this.#types.compile(version));
  }

  /** The plan of a graph that a test run carries, its pinned outputs with it. */
  addTestGraph(carried: CarriedGraph, { definition, pinned }: UnsavedGraph): Plan {
    const version = { ...definition, version: carried.version };
    const plan = { ...this.#types.compile(version), pinned: pinnedOutputsById(definition, pinned) };
    return this.#add(keyOf(carried.carriedBy, carried), version, plan);
  }

  #add(name: string, version: WorkflowVersion, plan: Plan): Plan {
    this.#cached.set(name, { version, plan });
    const oldest = this.#cached.keys().next();
    if (this.#cached.size > maxPlans && oldest.done !== true) this.#cached.delete(oldest.value);
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

/** What `decide` is given, as of now. */
export const decideTools = (
  deps: Pick<Deps, 'clock' | 'ids'>,
  plans: Plans,
  plan: Plan,
  head: Pick<Head, 'address' | 'deadlineAt'>,
  loaded: LoadedPayloads,
  runsOneInline = false,
): DecideTools => ({
  plan,
  runId: head.address.runId,
  now: deps.clock.now(),
  deadlineAt: head.deadlineAt,
  random: () => deps.ids.random(),
  evaluate: plans.evaluate,
  loaded,
  childRunId: (node, attempt) => childRunId(head.address.runId, node, attempt),
  runsOneInline,
});
