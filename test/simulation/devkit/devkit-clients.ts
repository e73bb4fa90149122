/** Clients of an application: they start runs, resume hooks by their tokens, and cancel runs. */
import type { RunAddress, Scope } from '../../../lib/engine/ids.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { durationMs } from '../../../lib/engine/time.ts';
import { type JsonObject, inline } from '../../../lib/engine/json.ts';
import { runId as toRunId } from '../../../lib/engine/ids.ts';
import { getHookByToken } from '../../../lib/service/kinds/devkit/world-reads.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Checker } from '../checker.ts';
import { Process } from '../process.ts';
import { runInvariant } from '../violation.ts';
import { flowQueue } from './app.ts';
import { largeText, tokens } from './plan.ts';
import { StreamClients } from './stream-clients.ts';
import { type ClientParts, WorldClient } from './world-client.ts';

interface Parts extends ClientParts {
  readonly checker: Checker;
  readonly scope: Scope;
}

/** Clients send requests until this time; then they cancel the runs that wait for a payload. */
const activeMs = 6 * 3_600_000;
/** The share of the events of steps after which a client cancels the run. */
const cancelledPerStep = 0.01;
const crashedClients = 0.1;
/** The share of runs with a stream. */
const withStream = 0.6;
const betweenResumesMs = 900_000;
const resumersOfToken = 2;

export class DevKitClients {
  /** starts without an answer */
  waiting = 0;
  readonly #parts: Parts;
  readonly #begunAt: number;
  #resumptions = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#begunAt = parts.around.time.now;
    const { time, prng } = parts.around;
    for (const token of tokens)
      for (let each = 0; each < resumersOfToken; each += 1)
        time.in(prng.whole(0, betweenResumesMs), () => this.#resumeOften(token));
  }

  #client(): WorldClient {
    return new WorldClient(this.#parts, new Process(this.#parts.around));
  }

  #inBackground(work: Promise<void>, otherwise: () => void): void {
    work.catch((cause: unknown) => {
      if (!(cause instanceof Error && cause.name === 'NoAnswer')) this.#parts.functions.recordError(cause);
      otherwise();
    });
  }

  /** @param withinMs the run starts at some time up to this one */
  start(plan: (runId: string) => void, withinMs: number): void {
    const { time, prng } = this.#parts.around;
    this.waiting += 1;
    time.in(prng.whole(0, withinMs), () => {
      const run = { ...this.#parts.scope, runId: this.#parts.functions.world?.ids.runId(time.now) ?? toRunId('') };
      plan(run.runId);
      this.#startOnce(run);
      if (prng.isLucky(withStream)) new StreamClients(this.#parts, this.#parts.judge.streams, run).begin();
      if (prng.isLucky(0.15)) time.in(prng.whole(0, prng.pick([5_000, 600_000, activeMs])), () => this.#cancel(run));
      time.in(activeMs, () => this.#cancelIfOpen(run));
    });
  }

  /** The creation and the first message leave at once, as the SDK sends them. One answer is enough. */
  #startOnce(run: RunAddress): void {
    const { checker, app, around } = this.#parts;
    let isDone = false;
    const done = (): void => {
      if (isDone) return;
      isDone = true;
      checker.acknowledge(run);
      this.waiting -= 1;
    };
    const workflowName = 'workflow//./workflows/order//processOrder';
    const input = 'input of the run';
    const data = { workflowName, deploymentId: app };
    const create = async (): Promise<void> => {
      await this.#client().create(run, { event: 'run_created', data, payload: inline(input) });
      done();
    };
    const send = async (): Promise<void> => {
      // The client may crash between the two.
      if (around.prng.isLucky(crashedClients)) return;
      const message: JsonObject = { runId: run.runId, runInput: { ...data, input } };
      await this.#client().queue(run, flowQueue, message);
      done();
    };
    this.#inBackground(create(), () => undefined);
    this.#inBackground(send(), () => undefined);
    // Its client crashed, or heard nothing: it asks again.
    around.time.in(600_000, () => (isDone ? undefined : this.#startOnce(run)));
  }

  #resumeOften(token: string): void {
    const { time, prng } = this.#parts.around;
    if (time.now > this.#begunAt + activeMs) return;
    this.#inBackground(this.#resume(token), () => undefined);
    time.in(prng.whole(1_000, betweenResumesMs), () => this.#resumeOften(token));
  }

  /** `resumeHook` of the SDK: the hook of the token, the event, and a message. */
  async #resume(token: string): Promise<void> {
    const { scope, judge, around } = this.#parts;
    this.#resumptions += 1;
    const resumeId = `resume-${this.#resumptions}`;
    const process = new Process(around);
    const client = new WorldClient(this.#parts, process);
    const before = judge.hookWith(token);
    const found = await client.call((world) => getHookByToken(world, scope, token, 'none'));
    if (found.kind === 'refused') {
      const after = judge.hookWith(token);
      const isThere = before !== undefined && before.runId === after?.runId && before.hookId === after.hookId;
      runInvariant(9, !isThere, `the token ${token} of the live hook ${before?.hookId} of ${before?.runId} was not found`);
      return;
    }
    const { runId, hookId } = found.value;
    if (typeof runId !== 'string' || typeof hookId !== 'string') throw new Error('a hook has no run');
    const run = { ...scope, runId: toRunId(runId) };
    const isLarge = around.prng.isLucky(0.1);
    const request = {
      event: 'hook_received',
      correlationId: hookId,
      payload: inline(`payload ${resumeId}${isLarge ? largeText : ''}`),
      resumeId,
      resumeDigest: resumeId,
    } as const;
    // The user thinks about it; the hook may be gone then.
    if (around.prng.isLucky(0.5)) await process.sleep(durationMs(around.prng.whole(0, 600_000)));
    const received = await client.create(run, request);
    if (received.kind === 'refused') return;
    if (around.prng.isLucky(0.3)) await client.create(run, request);
    if (!around.prng.isLucky(crashedClients)) await client.queue(run, flowQueue, { runId });
  }

  /** Some runs are cancelled between two events. */
  committed(run: RunAddress, commit: Commit): void {
    const { time, prng } = this.#parts.around;
    const isOfStep = commit.events.some((event) => event.type === 'DEVKIT' && event.event.startsWith('step_'));
    if (isOfStep && prng.isLucky(cancelledPerStep)) time.in(prng.whole(0, 100), () => this.#cancel(run));
  }

  #cancelIfOpen(run: RunAddress): void {
    const { around, judge } = this.#parts;
    const { time, prng } = around;
    if (!judge.isOpen(run.runId)) return;
    this.#cancel(run);
    time.in(prng.whole(60_000, 600_000), () => this.#cancelIfOpen(run));
  }

  #cancel(run: RunAddress): void {
    const { functions, judge } = this.#parts;
    judge.cancelled(run.runId);
    functions.invoke('api', async (decider) => {
      await cancelRun(decider, run, 'asked');
    });
  }
}
