/** Runs a topology through the service, one message at a time in the order of sending, so that its events have a fixed order. */
import { setImmediate as turn } from 'node:timers/promises';
import { compile } from '../../lib/engine/graph/compile.ts';
import {
  type NodeId,
  type RunAddress,
  type RunId,
  type Scope,
  environment,
  nodeId,
  nodeKey,
  projectId,
  signalId,
  topLevel,
  workflowName,
} from '../../lib/engine/ids.ts';
import { publicEventNames } from '../../lib/engine/log/event-names.ts';
import type { PublicEvent } from '../../lib/engine/log/public-event.ts';
import { type DurationMs, type Instant, after, days, earliest, minutes } from '../../lib/engine/time.ts';
import { validateLens } from '../../lib/lens/validate-lens.ts';
import { evaluatePure, inspectNode, termsOf } from '../../lib/nodes/catalogue.ts';
import type { AttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import type { Decider } from '../../lib/service/decider.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type GraphTypes, Plans, type RunAttempt } from '../../lib/service/commit/plans.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { type ListedEvent, listEvents } from '../../lib/service/runs/list-events.ts';
import { recheckRun } from '../../lib/service/execution/recheck-run.ts';
import { createLens } from '../../lib/service/definitions/publish-lens.ts';
import { createWorkflow } from '../../lib/service/definitions/publish-workflow.ts';
import { loadPayload } from '../../lib/service/run-log/payloads.ts';
import { readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { runNode } from '../../lib/service/kinds/graph/run-node.ts';
import { wakeNode } from '../../lib/service/execution/wake-node.ts';
import { sendSignal, sendToRun } from '../../lib/service/runs/send-signal.ts';
import { startRun } from '../../lib/service/runs/start-run.ts';
import { reconcileChild } from '../../lib/service/execution/reconcile-child.ts';
import { reconcileSlot } from '../../lib/service/execution/reconcile-slot.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { lensAttempts } from './lens-attempts.ts';
import type { RunActions } from './run-actions.ts';
import type { ConformanceEnv } from './conformance-env.ts';
import { type RecordedAttempt, type RunRecord, createRunRecord } from './run-record.ts';
import { type TopologyGraph, type Reply, type Topology, definitionOf, finishedWith } from './topology.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const scope: Scope = { projectId: projectId('default'), environment: environment('conformance') };

export const graphTypes: GraphTypes = { compile: (version) => compile(version, termsOf), evaluate: evaluatePure };

export const depsOf = ({ ports }: ConformanceEnv): Deps => ({
  ...ports,
  // The jitter of retry delays is always the same.
  ids: overrideMethods(ports.ids, { random: () => 0.5 }),
  settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
});

/** More messages than any topology has; a topology that sends messages without end stops here. */
const mostMessages = 2_000;

/** @param isTwice each message is delivered a second time after it was processed */
export async function runTopology(topology: Topology, place: ConformanceEnv, isTwice = false): Promise<RunRecord> {
  const player = new Player(topology, place, isTwice);
  await player.publish();
  if (topology.actions === undefined) {
    await player.start();
    await player.finish();
  } else await topology.actions(player.outside());
  return player.story();
}

class Player {
  readonly #topology: Topology;
  readonly #place: ConformanceEnv;
  readonly #deps: Deps;
  readonly #decider: Decider;
  /** of every published workflow, in the order of definition */
  readonly #nodes: readonly NodeId[];
  readonly #attemptLens: AttemptRunner;
  /** in the order of creation */
  readonly #runs: RunId[] = [];
  readonly #isTwice: boolean;
  readonly #attempts: RecordedAttempt[] = [];
  #run: RunAddress | undefined;
  #messages = 0;
  #signals = 0;

  constructor(topology: Topology, place: ConformanceEnv, isTwice: boolean) {
    this.#topology = topology;
    this.#place = place;
    this.#isTwice = isTwice;
    this.#deps = depsOf(place);
    this.#decider = { deps: this.#deps, plans: new Plans(graphTypes), kinds: runKinds, by: 'conformance' };
    this.#nodes = drawnOf(topology).flatMap((drawn) => definitionOf(drawn).nodes.map(({ id }) => id));
    this.#attemptLens = lensAttempts(topology, this.#deps.lenses);
  }

  async publish(): Promise<void> {
    for (const drawn of drawnOf(this.#topology)) {
      const answer = await createWorkflow(this.#deps, scope, definitionOf(drawn), inspectNode);
      if (answer.kind !== 'published') throw new Error(JSON.stringify(answer));
    }
    for (const lens of this.#topology.lenses ?? []) {
      const faults = validateLens(lens);
      if (faults.length > 0) throw new Error(JSON.stringify(faults));
      await createLens(this.#deps, scope, lens);
    }
  }

  /** A separate environment, so that a script can change it. */
  outside(ofAttempt?: AbortSignal): RunActions {
    return {
      start: () => this.start(),
      settle: () => this.#settle(),
      advanceTime: (time) => this.#pass(time, ofAttempt),
      advanceIdle: async (time) => this.#place.clock.advance(time),
      finish: () => this.finish(),
      loseMessages: () => this.#lose(),
      deliverTimersEarly: () => this.#hurry(),
      sweep: () => sweepRuns(this.#decider, after(this.#place.clock.now(), minutes(1))),
      send: (...signal) => this.#send(...signal),
      cancel: (reason) => cancelRun(this.#decider, this.#started(), reason),
      cancelCalled: async (node, reason) => cancelRun(this.#decider, await this.#called(node), reason),
      wake: (...nodeIds) => this.#wake(nodeIds),
      resume: async (reason) => void (await resumeRun(this.#decider, this.#started(), { reason })),
    };
  }

  async start(): Promise<void> {
    const { input = {} } = this.#topology;
    const answer = await startRun(this.#decider, {
      scope,
      idempotencyKey: 'once',
      bodyHash: 'once',
      workflowName: workflowName(this.#topology.name),
      input,
    });
    if (answer.kind !== 'started') throw new Error(JSON.stringify(answer));
    this.#run = { ...scope, runId: answer.runId };
    this.#runs.push(answer.runId);
  }

  async #settle(): Promise<void> {
    for (;;) {
      const jobs = [...(await this.#place.takeJobs()), ...(await this.#place.takeDue())].toSorted(this.#byDispatch);
      for (const job of jobs) await this.#deliver(job);
      const results = await this.#place.takeResults();
      await this.#collect(results);
      for (const job of this.#isTwice ? jobs : []) await this.#take(job, true);
      if (jobs.length === 0 && results.length === 0) return;
    }
  }

  /** @param ofAttempt the signal of the attempt in which the time passes; the worker that watches it wakes at its own times */
  async #pass(time: DurationMs, ofAttempt?: AbortSignal): Promise<void> {
    const until = after(this.#place.clock.now(), time);
    await this.#settle();
    for (;;) {
      const wakeAt = ofAttempt === undefined ? undefined : await this.#nextCheckOf(ofAttempt);
      const next = earliest([this.#place.nextDue(), wakeAt].filter((moment) => moment !== undefined));
      if (next === undefined || next > until) break;
      this.#moveTo(next);
      // The check of the attempt comes first. Otherwise the order of the events would depend on the speed of the tables.
      if (ofAttempt !== undefined) await this.#nextCheckOf(ofAttempt);
      await this.#settle();
    }
    this.#moveTo(until);
  }

  /** Waits until the worker that watches the attempt sleeps. @returns when it wakes; undefined if the attempt is aborted */
  async #nextCheckOf(attempt: AbortSignal): Promise<Instant | undefined> {
    for (;;) {
      const wakeAt = this.#place.clock.nextWakeAt();
      if (wakeAt !== undefined || attempt.aborted) return wakeAt;
      await turn();
    }
  }

  async finish(): Promise<void> {
    await this.#settle();
    for (let next = this.#place.nextDue(); next !== undefined; next = this.#place.nextDue()) {
      this.#moveTo(next);
      await this.#settle();
    }
  }

  async #lose(): Promise<void> {
    await this.#place.takeJobs();
    await this.#place.takeResults();
    await this.#takeAhead();
  }

  async #hurry(): Promise<void> {
    for (const job of await this.#takeAhead()) await this.#deliver(job);
  }

  /** Delivers messages that are due later; the clock is reset before the delivery. */
  async #takeAhead(): Promise<readonly Job[]> {
    const { clock } = this.#place;
    const now = clock.now();
    const taken: Job[] = [];
    for (let next = this.#place.nextDue(); next !== undefined; next = this.#place.nextDue()) {
      this.#moveTo(next);
      taken.push(...(await this.#place.takeDue()));
    }
    clock.set(now);
    return taken;
  }

  #send: RunActions['send'] = async (name, payload, { correlation, expiresIn } = {}) => {
    this.#signals += 1;
    const request = {
      name,
      payload,
      bodyHash: name,
      signalId: signalId(`signal-${this.#signals}`),
      ...(expiresIn === undefined ? {} : { expiresIn }),
    };
    const answer =
      correlation === undefined
        ? await sendToRun(this.#decider, this.#started(), request)
        : await sendSignal(this.#decider, scope, { ...request, correlation });
    if (answer.kind !== 'sent') throw new Error(answer.kind);
    return { isDelivered: answer.isDelivered };
  };

  async #wake(named: readonly string[]): Promise<readonly string[]> {
    const answer = await wakeRun(this.#decider, this.#started(), named.length === 0 ? {} : { nodeIds: named.map(nodeId) });
    return answer.kind === 'woken' ? answer.nodeIds : [];
  }

  async #called(node: string): Promise<RunAddress> {
    const fold = await readRunFold(this.#deps, this.#started());
    const state = fold?.state.nodes.get(nodeKey({ nodeId: nodeId(node), iteration: topLevel }));
    if (state === undefined || !('childRunId' in state) || state.childRunId === undefined)
      throw new Error(`${node} called nobody`);
    return { ...scope, runId: state.childRunId };
  }

  async story(run = this.#started()): Promise<RunRecord> {
    const fold = await readRunFold(this.#deps, run);
    const head = await this.#deps.log.head(run);
    const listing = await listEvents(this.#deps, run, { after: 0, limit: 10_000 });
    if (fold === undefined || head === undefined || listing.kind !== 'found') throw new Error('the run is gone');
    const { progress, nodes } = fold.state;
    const payload = progress.status === 'completed' ? progress.output : { value: null };
    const called: RunRecord[] = [];
    for (const {
      type,
      payload: { childRunId },
    } of listing.events) {
      const made = this.#runs.find((each) => type === 'subflow.called' && each === childRunId);
      if (made !== undefined) called.push(await this.story({ ...scope, runId: made }));
    }
    return createRunRecord({
      workflow: head.kind === 'graph' ? head.workflow.name : '',
      called,
      events: listing.events.filter(isInLog),
      status: head.projection.status,
      output: 'value' in payload ? payload.value : await loadPayload(this.#deps, run, payload.ref),
      attempts: this.#attempts.filter((each) => each.runId === run.runId),
      statusOf: (node) => nodes.get(nodeKey({ nodeId: nodeId(node), iteration: topLevel }))?.status ?? 'pending',
    });
  }

  #started(): RunAddress {
    if (this.#run === undefined) throw new Error('the run is not started');
    return this.#run;
  }

  #moveTo(moment: Instant): void {
    if (moment > this.#place.clock.now()) this.#place.clock.set(moment);
  }

  async #deliver(job: Job): Promise<void> {
    this.#messages += 1;
    if (this.#messages > mostMessages) throw new Error(`${this.#topology.name} sends more than ${mostMessages} messages`);
    await this.#take(job, false);
  }

  /** Each message has its own worker, which knows only stored data. */
  async #take(job: Job, isRedelivered: boolean): Promise<void> {
    const worker: JobHandler = {
      ...this.#decider,
      executions: runExecutions,
      foldCache: new FoldCache(),
      runAttempt: this.#runAttempt,
    };
    const delivery = { isRedelivered, mustEndAt: after(this.#place.clock.now(), minutes(15)) };
    switch (job.kind) {
      case 'node':
        return runNode(worker, job, delivery);
      case 'wake':
        return wakeNode(worker, job, delivery);
      case 'recheck':
        return recheckRun(worker, job);
      case 'slot':
        return reconcileSlot(worker, job);
      case 'message':
      case 'devkit':
      case 'workflow_task':
      case 'signal':
      case 'waits':
        throw new Error('a graph run asks for no code');
      case 'retention':
        throw new Error('no topology waits longer than its deadline');
      case 'child':
        await reconcileChild(worker, job);
        return this.#noteMade(job.childRunId);
    }
  }

  async #noteMade(made: RunId): Promise<void> {
    if (this.#runs.includes(made) || (await this.#deps.log.head({ ...scope, runId: made })) === undefined) return;
    this.#runs.push(made);
  }

  async #collect(results: readonly ResultMessage[]): Promise<void> {
    for (let first = 0; first < results.length; first += fullBatch) {
      const batch = results.slice(first, first + fullBatch);
      for (const isRedelivered of this.#isTwice ? [false, true] : [false]) {
        for (const each of byRun(batch.map((result) => ({ result, isRedelivered }))))
          await collectResults({ ...this.#decider, foldCache: new FoldCache() }, each);
      }
    }
  }

  /** In the order of sending; jobs of one commit in the order of iterations and of the definition. */
  #byDispatch = (one: Job, other: Job): number => {
    if (!('commit' in one) || !('commit' in other)) return Number('commit' in other) - Number('commit' in one);
    return (
      this.#runs.indexOf(one.run.runId) - this.#runs.indexOf(other.run.runId) ||
      one.commit - other.commit ||
      one.iteration.localeCompare(other.iteration, 'en', { numeric: true }) ||
      this.#nodes.indexOf(one.nodeId) - this.#nodes.indexOf(other.nodeId)
    );
  };

  #runAttempt: RunAttempt = async (node, input, tools) => {
    const { runId, iteration } = placeIn(tools.token);
    this.#attempts.push({ runId, node: node.id, iteration, attempt: tools.number, inputs: input.inputs });
    if (node.type === 'lens') return this.#attemptLens(node, input, tools);
    const reply = this.#replyOf(node.id, tools.number);
    if (typeof reply !== 'function') return { outcome: reply, printed: [] };
    const lasts = (time: DurationMs): Promise<void> => this.#last(time, tools.signal);
    return { outcome: await reply({ inputs: input.inputs, iteration, actions: this.outside(tools.signal), lasts }), printed: [] };
  };

  #replyOf(node: string, attempt: number): Reply {
    const replies = this.#topology.replies?.[node] ?? finishedWith(node);
    if (!isList(replies)) return replies;
    return replies[Math.min(attempt, replies.length) - 1] ?? finishedWith(node);
  }

  /** Wakes the workers that monitor the attempt one after the other and waits for each to finish its check. */
  async #last(time: DurationMs, signal: AbortSignal): Promise<void> {
    const { clock } = this.#place;
    const until = after(clock.now(), time);
    while (clock.now() < until) {
      const next = await this.#nextCheckOf(signal);
      if (signal.aborted) return;
      this.#moveTo(earliest([next ?? until, until]) ?? until);
    }
  }
}

const drawnOf = ({ calls = [], ...topology }: Topology): readonly TopologyGraph[] => [topology, ...calls];

/** The token of an attempt is `run/node`, and in a loop `run/node@iteration`. */
const placeIn = (token: string): { readonly runId: string; readonly iteration: string } => {
  const [, runId = '', iteration = ''] = /^([^/]*)\/[^@]*@?(.*)$/.exec(token) ?? [];
  return { runId, iteration };
};

const isList = (replies: Reply | readonly Reply[]): replies is readonly Reply[] => Array.isArray(replies);

/** The maximum batch size of SQS. */
const fullBatch = 10;

const loggedNames: ReadonlySet<string> = new Set(publicEventNames);
/** Derived events follow from the log, so the golden lists do not repeat them. */
const isInLog = (event: ListedEvent): event is PublicEvent => loggedNames.has(event.type);
