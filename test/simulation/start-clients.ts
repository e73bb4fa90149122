/**
 * Clients that start runs and repeat a request without a response, with or without their idempotency key. They also cancel,
 * wake and resume their runs.
 */
import { type RunAddress, type RunId, type Scope, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { type Instant, after, minutes, seconds } from '../../lib/engine/time.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { maxWaitSeconds as longestWaitSeconds } from '../../lib/api/schemas/runs.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { startAndWait } from '../../lib/service/runs/start-and-wait.ts';
import { type BatchOutcome, startBatch } from '../../lib/service/runs/start-batch.ts';
import { type StartRequest, type StartResult, startRun } from '../../lib/service/runs/start-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';
import { Prng } from './prng.ts';
import { runInvariant } from './violation.ts';
import type { NotificationChecker } from './notification-checker.ts';

interface StartClientParts {
  readonly around: SimulationContext;
  readonly functions: Functions;
  readonly checker: Checker;
  readonly words: NotificationChecker;
}

/** One client and its requests. */
interface Client {
  readonly number: number;
  readonly scope: Scope;
  readonly workflow: string;
  /** by idempotency key: the requests */
  readonly runs: Map<string, RunId>;
  /** absent: the product's default */
  readonly deadlineAt?: Instant;
}

/** A start of a batch. */
interface BatchEntry {
  readonly client: Client;
  readonly key: string;
}

/** The time that a client waits for a response, and again before its next request. */
const soonestMs = 5_000;
const latestMs = 40_000;

/** Deadlines, some of them too short for almost any work. */
const deadlines = [minutes(1), minutes(3), minutes(15), minutes(60)] as const;

/** The maximum error of the clocks of functions (`process.ts`). */
const mostWrongMs = 90_000;

/** The latest cancel after a start: most are early, and some arrive when only waits are open. */
const cancelledWithinMs = [60_000, 60_000, 1_200_000, 10_800_000] as const;

export class StartClients {
  /** clients without a response */
  waiting: number;
  woken = 0;
  readonly #parts: StartClientParts;
  readonly #cancelled = new Set<string>();
  /** clients whose deadline passed before their response */
  readonly #givenUp = new Set<Client>();
  readonly #clientsIn = new Map<Scope, number>();
  /** A resume also schedules a check of the run. Most simulations resume nothing, so this hides no bug. */
  #areResumed = false;
  #areHurried = false;
  readonly #awaited: number;
  /** the drawn deadlines */
  #ink = new Prng(0);

  /** @param awaited the share of requests that wait for their runs */
  constructor(parts: StartClientParts, clients: number, awaited = 0) {
    this.#parts = parts;
    this.#awaited = awaited;
    this.waiting = clients;
  }

  /** @param mayBeHurried some runs may have deadlines of minutes */
  begin(mayBeHurried: boolean): void {
    const { prng } = this.#parts.around;
    this.#areResumed = prng.isLucky(0.2);
    this.#ink = prng.fork();
    this.#areHurried = mayBeHurried && this.#ink.isLucky(0.12);
  }

  isCancelled(runId: string): boolean {
    return this.#cancelled.has(runId);
  }

  start(number: number, scope: Scope, workflow: string): void {
    const { prng, time } = this.#parts.around;
    const hurry = this.#areHurried ? { deadlineAt: after(time.now, this.#ink.pick(deadlines)) } : {};
    const client: Client = { number, scope, workflow, runs: new Map(), ...hurry };
    const key = this.#keyIn(scope);
    time.in(prng.whole(0, 30_000), () => this.#go(client, key));
  }

  /** The first clients of both environments use the same key. */
  #keyIn(scope: Scope): string {
    const clients = (this.#clientsIn.get(scope) ?? 0) + 1;
    this.#clientsIn.set(scope, clients);
    return `key-${clients}`;
  }

  #go(client: Client, key: string): void {
    const { prng, time, faults } = this.#parts.around;
    this.#ask(client, key);
    time.in(prng.whole(soonestMs, latestMs), () => {
      if (this.#givenUp.has(client)) return;
      const anew = `another-${client.number}-${time.now}`;
      if (!client.runs.has(key)) this.#go(client, faults.shouldInject('keyless') ? anew : key);
      else if (faults.shouldInject('askedAgain')) this.#go(client, key);
      else if (faults.shouldInject('keyless')) this.#ask(client, anew);
      else if (faults.shouldInject('keyReused')) this.#askForOther(client, key);
    });
  }

  #ask(client: Client, key: string): void {
    const { number } = client;
    this.#parts.words.asked(number, key);
    this.#parts.functions.invoke('api', async (decider) => {
      this.#answered(client, key, await this.#startOrWait(decider, requestOf(client, key, { client: number })));
    });
  }

  #answered(client: Client, key: string, answer: BatchOutcome): void {
    const { number, runs } = client;
    if (answer.kind === 'deadline_passed') return this.#giveUp(client);
    runInvariant(9, answer.kind === 'started', `start ${number} was answered ${answer.kind}`);
    const { runId } = answer;
    const before = runs.get(key);
    runInvariant(9, (before ?? runId) === runId, `start ${number} made two runs`);
    this.#parts.words.toldStarted(number, runId);
    // The answer to an earlier request may come after the client gave up.
    if (runs.size === 0 && !this.#givenUp.has(client)) this.waiting -= 1;
    runs.set(key, runId);
    const address: RunAddress = { ...client.scope, runId };
    this.#parts.checker.acknowledge(address);
    if (before === undefined) this.#goOnWith(address, number);
  }

  /** Starts runs in one request, which is repeated whole until each has its run, and sometimes after that. */
  startTogether(scope: Scope, starts: readonly { readonly number: number; readonly workflow: string }[]): void {
    const { prng, time } = this.#parts.around;
    const batch = starts.map(({ number, workflow }) => ({
      client: { number, scope, workflow, runs: new Map<string, RunId>() },
      key: this.#keyIn(scope),
    }));
    time.in(prng.whole(0, 30_000), () => this.#goTogether(batch));
  }

  #goTogether(batch: readonly BatchEntry[]): void {
    const { prng, time, faults } = this.#parts.around;
    this.#askTogether(batch);
    time.in(prng.whole(soonestMs, latestMs), () => {
      const isOpen = batch.some(({ client, key }) => !client.runs.has(key));
      if (isOpen || faults.shouldInject('askedAgain')) this.#goTogether(batch);
    });
  }

  #askTogether(batch: readonly BatchEntry[]): void {
    for (const { client, key } of batch) this.#parts.words.asked(client.number, key);
    this.#parts.functions.invoke('api', async (decider) => {
      const requests = batch.map(({ client, key }) => requestOf(client, key, { client: client.number }));
      for (const [index, outcome] of (await startBatch(decider, requests)).entries()) {
        const entry = batch[index];
        // The client repeats the batch, in which the other starts are answered again.
        if (entry !== undefined && outcome.kind !== 'unavailable') this.#answered(entry.client, entry.key, outcome);
      }
    });
  }

  /** An answer with an end is the end of the run in its log. */
  async #startOrWait(decider: Decider, request: StartRequest): Promise<StartResult> {
    const { around, functions, checker } = this.#parts;
    if (this.#awaited === 0 || !around.prng.isLucky(this.#awaited)) return startRun(decider, request);
    const answer = await startAndWait(decider, functions.calls, request, seconds(around.prng.whole(1, longestWaitSeconds)));
    if (answer.kind === 'started' && isTerminal(answer.progress)) {
      const recorded = checker.stateOf(answer.runId)?.progress.status;
      runInvariant(
        2,
        recorded === answer.progress.status,
        `${answer.runId} was answered ${answer.progress.status}, its log: ${recorded}`,
      );
    }
    return answer;
  }

  /** Its first request came after the deadline: it sends no further request. */
  #giveUp(client: Client): void {
    const { number, deadlineAt, runs } = client;
    const isLate = deadlineAt !== undefined && this.#parts.around.time.now + mostWrongMs >= deadlineAt;
    runInvariant(9, isLate, `start ${number} was refused before its deadline passed`);
    if (runs.size > 0 || this.#givenUp.has(client)) return;
    this.#givenUp.add(client);
    this.waiting -= 1;
  }

  /** A different request with a used key has no effect. */
  #askForOther(client: Client, key: string): void {
    const { number } = client;
    this.#parts.functions.invoke('api', async (decider) => {
      const { kind } = await startRun(decider, requestOf(client, key, { client: number, isOther: true }));
      runInvariant(9, kind === 'idempotency_conflict', `start ${number} was answered ${kind} to another body with its key`);
    });
  }

  #goOnWith(address: RunAddress, number: number): void {
    const { prng, time, faults } = this.#parts.around;
    if (faults.shouldInject('cancelled')) time.in(prng.whole(0, prng.pick(cancelledWithinMs)), () => this.#cancel(address));
    if (prng.isLucky(0.4)) time.in(prng.whole(0, 1_200_000), () => this.#wake(address));
    if (this.#areResumed && prng.isLucky(0.7))
      time.in(prng.whole(0, 1_200_000), () => this.#resume(address, `again-${number}-${time.now}`));
  }

  /** The client repeats the request until it gets a response, and sometimes after that. */
  #cancel(address: RunAddress): void {
    const { prng, time } = this.#parts.around;
    this.#cancelled.add(address.runId);
    let isAnswered = false;
    const attempt = (): void => {
      this.#parts.functions.invoke('api', async (decider) => {
        const answer = await cancelRun(decider, address, 'asked');
        runInvariant(9, answer.kind !== 'not_found', `${address.runId} was acknowledged but was not found for the cancel`);
        isAnswered = true;
        if (answer.kind === 'cancelled') this.#parts.words.toldCancelled(address.runId);
        if (answer.kind === 'run_terminal') this.#parts.words.toldEnded(address.runId, answer.status);
      });
      time.in(prng.whole(soonestMs, latestMs), () => (isAnswered && !prng.isLucky(0.2) ? undefined : attempt()));
    };
    attempt();
  }

  /** A client wakes its run or retries its failed nodes now, at any time, sometimes more than once. */
  #wake(address: RunAddress): void {
    const { prng, time } = this.#parts.around;
    this.#parts.functions.invoke('api', async (decider) => {
      const answer = await wakeRun(decider, address, {});
      if (answer.kind === 'woken') this.woken += answer.nodeIds.length;
      // Without a draw, so that the seeds stay the same.
      if (time.now % 8 === 0) await wakeRun(decider, address, { retries: true });
    });
    if (prng.isLucky(0.3)) time.in(prng.whole(0, 600_000), () => this.#wake(address));
  }

  /** The client repeats the request with the same key until it gets a response, sometimes after that or twice at the same time. */
  #resume(address: RunAddress, key: string): void {
    const { prng, time } = this.#parts.around;
    let isAnswered = false;
    const ask = (): void =>
      this.#parts.functions.invoke('api', async (decider) => {
        const { kind } = await resumeRun(decider, address, { reason: key, idempotency: { key, bodyHash: key } });
        isAnswered = true;
        if (kind === 'resumed') this.#parts.checker.resumed(address.runId, key);
      });
    const attempt = (): void => {
      ask();
      if (prng.isLucky(0.3)) ask();
      time.in(prng.whole(soonestMs, latestMs), () => (isAnswered && !prng.isLucky(0.3) ? undefined : attempt()));
    };
    attempt();
  }
}

const requestOf = ({ scope, workflow, deadlineAt }: Client, idempotencyKey: string, input: JsonObject) => ({
  scope,
  idempotencyKey,
  bodyHash: `hash-${JSON.stringify(input)}`,
  workflowName: workflowName(workflow),
  input,
  ...(deadlineAt === undefined ? {} : { deadlineAt }),
});
