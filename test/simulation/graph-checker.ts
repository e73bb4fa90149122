/**
 * Checks graph runs from their logs and definitions with rules of its own, without code of lib/engine/graph (docs/NODES.md). A
 * node starts only when its join allows it, is skipped for the right reason and gets the attempts of its policy. A loop
 * processes its items as configured, and a run ends as its leaves did.
 */
import type { EdgeDefinition, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { type RunAddress, topLevel } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type JsonObject, isJsonObject } from '../../lib/engine/json.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { LoopChecker, type NodeEvent, iterationOf } from './loop-checker.ts';
import { runInvariant } from './violation.ts';

/** The default policy of random-graph.ts. */
const mostAttempts = 3;

type Became =
  | { readonly is: 'open' }
  | { readonly is: 'done'; readonly handle: string | null; readonly isError: boolean }
  | { readonly is: 'failed'; readonly isHandled: boolean }
  | { readonly is: 'passed by'; readonly reason: string };

type Way = 'unresolved' | 'live' | 'dead' | 'source_failed' | 'upstream_failed';

export class GraphChecker {
  readonly #versionOf: (run: RunAddress) => Promise<WorkflowVersion | undefined>;
  readonly #onTrouble: (thrown: unknown) => void;
  readonly #judges = new Map<string, Promise<RunJudge | undefined>>();
  /** nodes whose joins were checked */
  judged = 0;

  /**
   * @param versionOf what a run is of, where it is of a graph
   * @param onError is told of a violation in the moment of its commit
   */
  constructor(versionOf: (run: RunAddress) => Promise<WorkflowVersion | undefined>, onTrouble: (thrown: unknown) => void) {
    this.#versionOf = versionOf;
    this.#onTrouble = onTrouble;
  }

  committed(run: RunAddress, commit: Commit): void {
    const judged = (this.#judges.get(run.runId) ?? this.#begin(run)).then((check) => {
      check?.commit(commit);
      return check;
    });
    this.#judges.set(run.runId, judged);
    judged.catch(this.#onTrouble);
  }

  /**
   * What can only be said of a run that is over.
   * @param isHurried its deadline is near: an attempt that would come behind it is not made
   */
  async check(isHurried: (runId: string) => boolean): Promise<void> {
    for (const [runId, judging] of this.#judges) {
      const check = await judging;
      if (!isHurried(runId)) check?.over();
      this.judged += check?.judged ?? 0;
    }
  }

  async #begin(run: RunAddress): Promise<RunJudge | undefined> {
    const version = await this.#versionOf(run);
    return version === undefined ? undefined : new RunJudge(run.runId, version);
  }
}

/** The policy of a simulated node is part of the node; a product node type has it in its settings. */
const policyOf = ({ config }: NodeDefinition): JsonObject => {
  const { policy = config } = config;
  return isJsonObject(policy) ? policy : {};
};

class RunJudge {
  readonly #runId: string;
  readonly #nodes: ReadonlyMap<string, NodeDefinition>;
  readonly #edges: readonly EdgeDefinition[];
  readonly #became = new Map<string, Became>();
  readonly #loops: LoopChecker;
  #halted: string | undefined;
  /** the end that ends the run, until the run has ended */
  #last: Extract<RunEvent, { type: 'NODE_COMPLETED' }> | undefined;
  /** before its last attempt: only if the budget has no room for another one */
  #gaveUp: string | undefined;
  judged = 0;

  constructor(runId: string, { nodes, edges }: WorkflowVersion) {
    this.#runId = runId;
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#edges = edges;
    this.#loops = new LoopChecker(runId, this.#nodes);
  }

  commit({ events }: Commit): void {
    this.#loops.commits();
    for (const event of events) {
      if (event.type === 'RUN_COMPLETED' || event.type === 'RUN_FAILED') this.#ended(event);
      else if ('nodeId' in event) this.#node(event);
    }
    this.#holds(this.#last === undefined, `${this.#last?.nodeId} ends the run, and the run goes on`);
    this.#holds(this.#halted === undefined, `${this.#halted} failed, which was to end the run, and the run goes on`);
  }

  /** The node gets no further attempt. */
  over(): void {
    this.#holds(this.#gaveUp === undefined, `${this.#gaveUp}`);
  }

  #holds(holds: boolean, message: string): void {
    runInvariant(4, holds, `${this.#runId}: ${message}`);
  }

  #node(event: NodeEvent): void {
    const node = this.#nodes.get(event.nodeId);
    if (node === undefined) return this.#holds(false, `${event.nodeId} is no node of it`);
    const key = `${event.nodeId}@${event.iteration}`;
    if (!this.#became.has(key)) {
      this.judged += 1;
      const verdict = this.#decide(node, event.iteration);
      const came = event.type === 'NODE_SKIPPED' ? event.reason : event.type === 'NODE_FAILED' ? causeOf(event) : 'fires';
      this.#holds(came === verdict, `${key} ${came}, and by its edges ${verdict}`);
    }
    this.#loops.saw(event, (iteration) => this.#endedIn(iteration));
    if (event.type === 'NODE_RETRIED' && node.type === 'work')
      this.#holds(event.attempt < mostAttempts, `${key} is tried again after attempt ${event.attempt}`);
    if (event.type === 'NODE_FAILED' && node.type === 'work' && event.failure.cause === 'error')
      this.#gaveUp = event.attempt === mostAttempts ? this.#gaveUp : `${key} failed for good at attempt ${event.attempt}`;
    if (event.type === 'NODE_FAILED' && policyOf(node)['errorHandling'] === 'fail_workflow') this.#halted = key;
    this.#holds(this.#last === undefined, `${key} has an event after ${this.#last?.nodeId}, which ends the run`);
    if (event.type === 'NODE_COMPLETED' && event.end !== undefined && node.config['endsRun'] === true) this.#last = event;
    this.#became.set(key, becameBy(event));
    if (event.type === 'ITERATION_ENDED') this.#dropInside(event);
  }

  #dropInside({ nodeId, iteration, index }: Extract<RunEvent, { type: 'ITERATION_ENDED' }>): void {
    const pass = iterationOf(nodeId, iteration, index);
    for (const key of this.#became.keys()) if (key.slice(key.indexOf('@') + 1).startsWith(pass)) this.#became.delete(key);
  }

  #decide(node: NodeDefinition, iteration: string): string {
    const { joinMode = 'all', onParentFailure = 'skip' } = policyOf(node);
    const inbound = this.#edges.filter((edge) => edge.target === node.id && !isBack(edge));
    const ways = inbound.map((edge) => this.#way(edge, iteration));
    if (ways.length === 0) return 'fires';
    if (joinMode === 'any' && ways.includes('live')) return 'fires';
    if (ways.includes('unresolved')) return 'waits';
    if (ways.includes('source_failed')) {
      if (onParentFailure === 'substitute_default') return 'fires';
      return onParentFailure === 'propagate' ? 'upstream_failure' : 'parent_not_successful';
    }
    if (ways.includes('upstream_failed')) {
      const isSubstituted = joinMode !== 'allSucceeded' && onParentFailure === 'substitute_default';
      return isSubstituted ? 'fires' : 'parent_not_successful';
    }
    if (joinMode === 'allSucceeded' && inbound.some(({ source }) => this.#isStopped(source, iteration)))
      return 'branch_not_taken';
    return ways.includes('live') ? 'fires' : 'branch_not_taken';
  }

  /** Whether the node failed, or did not run because of a failure that another branch handles. */
  #isStopped(id: string, iteration: string): boolean {
    const became = this.#became.get(`${id}@${iteration}`);
    if (became?.is !== 'passed by') return became?.is === 'failed';
    return this.#edges.some((edge) => edge.target === id && !isBack(edge) && this.#isStopped(edge.source, iteration));
  }

  #way({ source, sourceHandle: drawn = 'output' }: EdgeDefinition, iteration: string): Way {
    const sourceHandle = drawn === 'success' ? 'output' : drawn;
    if (sourceHandle === 'loop') return 'live';
    const became = this.#became.get(`${source}@${iteration}`);
    switch (became?.is) {
      case undefined:
      case 'open':
        return 'unresolved';
      case 'done':
        return became.handle === sourceHandle ? 'live' : 'dead';
      case 'failed':
        if (!became.isHandled) return 'source_failed';
        return sourceHandle === 'error' ? 'live' : 'dead';
      case 'passed by':
        return became.reason === 'branch_not_taken' ? 'dead' : 'upstream_failed';
    }
  }

  /** @returns whether an iteration succeeded; undefined while a node of it is open */
  #endedIn(iteration: string, isOf = (id: string): boolean => iteration === topLevel && !id.includes('.')): boolean | undefined {
    const loop = iteration === topLevel ? undefined : /(?:^|\/)([^/[]+)\[\d+\]$/.exec(iteration)?.[1];
    const isMember =
      loop === undefined ? isOf : (id: string) => id.startsWith(`${loop}.`) && !id.slice(loop.length + 1).includes('.');
    const members = [...this.#nodes.values()].filter(({ id }) => isMember(id));
    const ends = members.map((node) => ({ node, became: this.#became.get(`${node.id}@${iteration}`) }));
    if (ends.some(({ became }) => became === undefined || became.is === 'open')) return undefined;
    const leaves = ends.filter(({ node }) => !this.#edges.some((edge) => edge.source === node.id && isOnward(edge)));
    return leaves.every(
      ({ became }) =>
        (became?.is === 'done' && !became.isError) || (became?.is === 'passed by' && became.reason === 'branch_not_taken'),
    );
  }

  #ended(event: Extract<RunEvent, { type: 'RUN_COMPLETED' | 'RUN_FAILED' }>): void {
    const isHalted = this.#halted !== undefined;
    this.#halted = undefined;
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined) return this.#endedAt(last, event);
    if (event.type === 'RUN_FAILED' && event.error.cause === 'budget') this.#gaveUp = undefined;
    if (event.type === 'RUN_FAILED' && (isHalted || event.error.cause === 'budget')) return;
    const wentWell = this.#endedIn(topLevel);
    this.#holds(wentWell !== undefined, `${event.type} while something of it is open`);
    this.#holds(wentWell === (event.type === 'RUN_COMPLETED'), `${event.type}, and its leaves say otherwise`);
  }

  /** The run has the result of the end that ended it. */
  #endedAt(
    last: Extract<RunEvent, { type: 'NODE_COMPLETED' }>,
    event: Extract<RunEvent, { type: 'RUN_COMPLETED' | 'RUN_FAILED' }>,
  ): void {
    // What was to be tried again is cancelled.
    this.#gaveUp = undefined;
    const isAsEnded =
      event.type === 'RUN_COMPLETED'
        ? last.end === 'success' && JSON.stringify(event.output) === JSON.stringify(last.output)
        : last.end === 'error' && event.error.code === 'ended_in_error';
    this.#holds(isAsEnded, `${event.type} is not the result of ${last.nodeId}, which ended the run`);
  }
}

/** Whether the edge leads from the body back to the loop and ends the iteration. */
const isBack = ({ source, target }: EdgeDefinition): boolean => source.startsWith(`${target}.`);
/** Whether the edge leads to another node of the same iteration. */
const isOnward = (edge: EdgeDefinition): boolean => edge.sourceHandle !== 'loop' && !isBack(edge);

const causeOf = ({ failure }: Extract<RunEvent, { type: 'NODE_FAILED' }>): string =>
  failure.cause === 'upstream_failure' ? 'upstream_failure' : 'fires';

function becameBy(event: NodeEvent): Became {
  switch (event.type) {
    case 'NODE_COMPLETED':
      return { is: 'done', handle: event.handle, isError: event.end === 'error' };
    case 'NODE_FAILED':
      return { is: 'failed', isHandled: event.handle === 'error' };
    case 'NODE_SKIPPED':
      return { is: 'passed by', reason: event.reason };
    default:
      return { is: 'open' };
  }
}

/** For the product's node types, the definition alone gives neither the loop body of a node nor the result of a condition. */
export const isPlainGraph = ({ nodes, edges }: WorkflowVersion): boolean =>
  nodes.every(({ type }) => type !== 'loop') && edges.every((edge) => !('condition' in edge));
