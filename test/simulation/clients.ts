/**
 * The clients of a simulated world: they start runs and ask again when they hear nothing, cancel and wake at any moment, send
 * signals for as long as anything runs, and deploy new code under runs that are on their way.
 */
import type { WorkflowOptions, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import {
  type RunAddress,
  type Scope,
  deploymentId,
  environment,
  projectId,
  signalId,
  workflowName,
} from '../../lib/engine/ids.ts';
import { terminalStatuses } from '../../lib/engine/log/head.ts';
import { after, hours, minutes, seconds } from '../../lib/engine/time.ts';
import type { MemoryWorld } from '../../lib/memory/memory-world.ts';
import { programPath } from '../../lib/ports/programs.ts';
import { cancelRun } from '../../lib/service/cancel-run.ts';
import { listRuns } from '../../lib/service/list-runs.ts';
import { resumeRun } from '../../lib/service/resume-run.ts';
import { sendSignal } from '../../lib/service/send-signal.ts';
import { startRun } from '../../lib/service/start-run.ts';
import { wakeRun } from '../../lib/service/wake-run.ts';
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import type { Surroundings } from './process.ts';
import { type CodeWorkflow, leafCode, randomCode } from './random-code.ts';
import { leafVersion, randomVersion, simulatedPlaces } from './random-graph.ts';
import type { SignalWatch } from './signal-watch.ts';
import { runInvariant } from './violation.ts';
import type { WordWatch } from './word-watch.ts';
import { birth } from './world.ts';

export interface ClientOptions {
  readonly runs: number;
  readonly isShared: boolean;
  readonly limits: WorkflowOptions;
  readonly isBrisk: boolean;
  /** the share of workflows that are code */
  readonly code: number;
  /** code that is run instead of what is drawn */
  readonly codes: readonly CodeWorkflow[];
}

/** Two of them, with workflows, keys and signals of the same names: nothing of one may reach the other. */
const scopes: readonly Scope[] = ['simulated', 'beside'].map((name) => ({
  projectId: projectId('default'),
  environment: environment(name),
}));
const [home] = scopes;

export class Clients {
  /** starts that nobody has answered yet */
  waiting: number;
  woken = 0;
  sent = 0;
  readonly #cancelled = new Set<string>();
  readonly #around: Surroundings;
  readonly #memory: MemoryWorld;
  readonly #functions: Functions;
  readonly #checker: Checker;
  readonly #signals: SignalWatch;
  readonly #words: WordWatch;
  readonly #options: ClientOptions;
  #deployments = 0;
  /** Whoever resumes a run has somebody look at it, too: in most worlds nobody does, so that this hides nothing. */
  #areResumed = false;
  readonly #clientsIn = new Map<Scope, number>();

  constructor(
    around: Surroundings,
    memory: MemoryWorld,
    functions: Functions,
    watches: { readonly checker: Checker; readonly signals: SignalWatch; readonly words: WordWatch },
    options: ClientOptions,
  ) {
    this.#around = around;
    this.#memory = memory;
    this.#functions = functions;
    this.#checker = watches.checker;
    this.#signals = watches.signals;
    this.#words = watches.words;
    this.#options = options;
    this.waiting = options.runs;
  }

  get isQuiet(): boolean {
    return this.waiting === 0 && this.#checker.isQuiet;
  }

  /** A client has asked for it, or the run is none of a client's: its caller may have. */
  mayBeCancelled(runId: string): boolean {
    return this.#cancelled.has(runId) || !this.#checker.acknowledged.has(runId);
  }

  /** Publishes what there is to run, and sets everything going. */
  async begin(): Promise<void> {
    const { prng, time } = this.#around;
    const { runs, isShared, limits, isBrisk, code, codes: fixed } = this.#options;
    // Several runs whose results come together: only they are taken in one batch.
    const isCrowd = fixed.length === 0 && code < 1 && prng.isLucky(0.04);
    let shared: WorkflowVersion | CodeWorkflow | undefined = isCrowd
      ? { ...randomVersion(prng, 'flow', isBrisk, true), options: limits }
      : undefined;
    const drawn = (index: number): WorkflowVersion | CodeWorkflow => {
      const given = fixed[index % fixed.length];
      if (given !== undefined) return { ...given, name: `code-${index}` };
      const isCode = prng.isLucky(code);
      if (isCode) return randomCode(prng, `code-${index}`, { isBrisk });
      return { ...randomVersion(prng, `flow-${index}`, isBrisk), options: limits };
    };
    const workflows = Array.from({ length: runs }, (_, index) => {
      const workflow = shared ?? drawn(index);
      // Where they are not all of one workflow, two that follow each other are now and then.
      shared = isShared || isCrowd || (shared === undefined && prng.isLucky(0.2)) ? workflow : undefined;
      return workflow;
    });
    for (const scope of scopes) {
      for (const workflow of new Set([leafVersion, ...workflows])) {
        if (isCode(workflow)) continue;
        await this.#memory.workflows.putVersion(scope, workflow, birth);
        await this.#memory.workflows.advance(scope, workflow, birth);
      }
    }
    // Runs of one workflow are of one code.
    const codes = [...new Set(workflows.filter(isCode))];
    await this.#deploy(codes);
    this.#areResumed = prng.isLucky(0.2);
    for (const [index, workflow] of workflows.entries()) this.#start(index, workflow);
    // Later deployments have other code under the same names: whoever began on the one before is to end on it.
    for (let count = codes.length > 0 ? prng.whole(0, 2) : 0; count > 0; count -= 1) {
      time.in(prng.whole(10_000, 1_800_000), () => {
        const others = codes.map(({ name }) => randomCode(prng, name, { isBrisk }));
        this.#deploy(others).catch((trouble: unknown) => this.#functions.problems.push(trouble));
      });
    }
    const anew = [...new Set(workflows)].flatMap((workflow) =>
      isCode(workflow) || !prng.isLucky(0.5)
        ? []
        : [{ ...randomVersion(prng, workflow.name, isBrisk), version: 2, options: limits }],
    );
    for (const version of anew) time.in(prng.whole(0, 40_000), () => this.#publish(version));
    this.#sendSignals([...workflows, ...anew]);
    this.#look();
  }

  /** Another graph under the same name: whoever began on the one before is to end on it. */
  #publish(version: WorkflowVersion): void {
    const { now } = this.#around.time;
    for (const scope of scopes) {
      void this.#memory.workflows.putVersion(scope, version, now);
      void this.#memory.workflows.advance(scope, version, now);
    }
  }

  async #deploy(codes: readonly CodeWorkflow[]): Promise<void> {
    this.#deployments += 1;
    const id = deploymentId(`code-${this.#deployments}`);
    const all = [leafCode, ...codes];
    this.#functions.deployed.set(id, all);
    const at = this.#around.time.now;
    for (const scope of scopes) {
      const { deployments } = this.#memory;
      await deployments.create(scope, {
        manifest: {
          deploymentId: id,
          specVersion: 1,
          runtime: 'code',
          workflows: all.map(({ name }) => ({ name })),
          steps: [],
          files: [{ path: programPath, sha256: '0'.repeat(64), bytes: 1 }],
          artifact: { sha256: '0'.repeat(64), bytes: 1 },
        },
        createdAt: at,
        createdBy: null,
        verifiedAt: at,
      });
      const before = await deployments.pointer(scope);
      const revision = (before?.revision ?? 0) + 1;
      const history = [{ deploymentId: id, at, by: null }, ...(before?.history ?? [])];
      await deployments.movePointer(scope, revision - 1, { revision, history });
    }
  }

  #start(client: number, workflow: WorkflowVersion | CodeWorkflow): void {
    const { prng, time, faults } = this.#around;
    // Not where runs are counted: those of another environment have places of their own.
    const scope = this.#options.isShared || home === undefined ? home : prng.pick([home, ...scopes]);
    if (scope === undefined) throw new Error('there is no scope');
    const key = this.#keyIn(scope);
    let runId: string | undefined;
    const ask = (idempotencyKey: string, isFirst: boolean): void => {
      this.#words.asked(client, idempotencyKey);
      this.#functions.invoke('api', async (decider) => {
        const answer = await startRun(decider, {
          scope,
          idempotencyKey,
          bodyHash: `hash-${client}`,
          workflowName: workflowName(workflow.name),
          input: { client },
        });
        runInvariant(9, answer.kind === 'started', `start ${client} was answered ${answer.kind}`);
        const address: RunAddress = { ...scope, runId: answer.runId };
        if (isFirst) {
          if (runId === undefined) this.waiting -= 1;
          runInvariant(9, (runId ?? answer.runId) === answer.runId, `start ${client} made two runs`);
          runId = answer.runId;
        }
        this.#checker.acknowledge(address);
        if (prng.isLucky(0.15)) time.in(prng.whole(0, 60_000), () => this.#cancel(address));
        if (prng.isLucky(0.4)) time.in(prng.whole(0, 1_200_000), () => this.#wake(address));
        if (this.#areResumed && prng.isLucky(0.7))
          time.in(prng.whole(0, 1_200_000), () => this.#resume(address, `again-${client}-${time.now}`));
      });
    };
    const start = (): void => {
      ask(key, true);
      time.in(prng.whole(5_000, 40_000), () => {
        // A client that heard nothing asks again with the same key; one that did, sometimes too.
        if (runId === undefined || faults.strikes('askedAgain')) start();
        else if (faults.strikes('keyless')) ask(`another-${client}-${time.now}`, false);
      });
    };
    time.in(prng.whole(0, 30_000), start);
  }

  /** The first client of one environment has the key that the first of the other has. */
  #keyIn(scope: Scope): string {
    const clients = (this.#clientsIn.get(scope) ?? 0) + 1;
    this.#clientsIn.set(scope, clients);
    return `key-${clients}`;
  }

  #cancel(address: RunAddress): void {
    this.#cancelled.add(address.runId);
    this.#functions.invoke('api', async (decider) => {
      const answer = await cancelRun(decider, address, 'asked');
      if (answer.kind === 'cancelled') this.#words.toldCancelled(address.runId);
      if (answer.kind === 'run_terminal') this.#words.toldEnded(address.runId, answer.status);
    });
  }

  /** A client that wakes a run does so at any moment, and some more than once. */
  #wake(address: RunAddress): void {
    const { prng, time } = this.#around;
    this.#functions.invoke('api', async (decider) => {
      const answer = await wakeRun(decider, address);
      if (answer.kind === 'woken') this.woken += answer.nodeIds.length;
    });
    if (prng.isLucky(0.3)) time.in(prng.whole(0, 600_000), () => this.#wake(address));
  }

  /** It asks again with the same key until it is answered and now and then after that, or twice at the same moment. */
  #resume(address: RunAddress, key: string): void {
    const { prng, time } = this.#around;
    let isAnswered = false;
    const ask = (): void =>
      this.#functions.invoke('api', async (decider) => {
        const { kind } = await resumeRun(decider, address, { reason: key, once: { key, bodyHash: key } });
        isAnswered = true;
        if (kind === 'resumed') this.#checker.resumed(address.runId, key);
      });
    const attempt = (): void => {
      ask();
      if (prng.isLucky(0.3)) ask();
      time.in(prng.whole(5_000, 40_000), () => (isAnswered && !prng.isLucky(0.3) ? undefined : attempt()));
    };
    attempt();
  }

  #sendSignals(workflows: readonly (WorkflowVersion | CodeWorkflow)[]): void {
    const { prng, time } = this.#around;
    const areAwaited = workflows.some((workflow) =>
      isCode(workflow) ? true : workflow.nodes.some(({ type }) => type === 'wait'),
    );
    if (!areAwaited) return;
    for (const scope of scopes) {
      for (const place of simulatedPlaces) {
        const pauseMs = prng.pick([60_000, 1_200_000, 10_800_000]);
        time.in(prng.whole(0, pauseMs), () => this.#send(scope, place, pauseMs));
      }
    }
  }

  /** A sender sends again, under the same name, until it is answered; and then the next one, for as long as anything runs. */
  #send(scope: Scope, place: (typeof simulatedPlaces)[number], pauseMs: number): void {
    const { prng, time } = this.#around;
    const id = signalId(`sig-${(this.sent += 1)}`);
    const request = {
      ...place,
      payload: { sent: this.sent },
      bodyHash: id,
      ...(prng.isLucky(0.5) ? { idempotencyKey: id } : {}),
    };
    const expiresIn = prng.pick([seconds(30), minutes(10), hours(24), hours(24)]);
    const keptUntil = after(time.now, expiresIn);
    let answer: boolean | undefined;
    this.#signals.sent({ ...place, scope, signalId: id, payload: request.payload });
    const attempt = (): void => {
      this.#functions.invoke('api', async (decider) => {
        const sending = await sendSignal(decider, scope, { ...request, signalId: id, expiresIn });
        runInvariant(9, sending.kind === 'sent', `signal ${id} was answered ${sending.kind}`);
        runInvariant(9, (answer ?? sending.isDelivered) === sending.isDelivered, `signal ${id} was answered in two ways`);
        answer = sending.isDelivered;
        this.#signals.acknowledged({ ...place, scope, signalId: id, keptUntil }, answer, time.now);
      });
      time.in(prng.whole(5_000, 40_000), () => (answer !== undefined && !prng.isLucky(0.1) ? undefined : attempt()));
    };
    attempt();
    // A sender has the less to say the longer it goes on: a run that never ends would bury its places in signals.
    const nextPauseMs = Math.min(Math.ceil(pauseMs * 1.1), 10_800_000);
    time.in(prng.whole(1, pauseMs), () => (this.isQuiet ? undefined : this.#send(scope, place, nextPauseMs)));
  }

  /** Somebody looks at lists: whatever they show, old or new, is a run of their own environment. */
  #look(): void {
    const { prng, time } = this.#around;
    const scope = prng.pick(scopes);
    this.#functions.invoke('api', async ({ deps }) => {
      const { runs } = await listRuns(deps, scope, {}, { limit: 10 });
      for (const { head, status } of runs) {
        const { runId } = head.address;
        runInvariant(10, head.address.environment === scope.environment, `${runId} is listed in another environment`);
        const ended = this.#checker.endOf(runId);
        runInvariant(
          2,
          ended === undefined || !isAsOf(status) || status === ended,
          `${runId} ended as ${ended}, and is listed as ${status}`,
        );
      }
    });
    time.in(prng.whole(30_000, 900_000), () => (this.isQuiet ? undefined : this.#look()));
  }
}

const isAsOf = (status: string): boolean => terminalStatuses.some((each) => each === status);

const isCode = (workflow: WorkflowVersion | CodeWorkflow): workflow is CodeWorkflow => 'part' in workflow;
