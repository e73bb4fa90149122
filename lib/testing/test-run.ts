/** The handle of a run in a test. */
import { defined } from '../base/defined.ts';
import type { StepKind } from '../engine/durable/step.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import type { NodeState } from '../engine/log/node-state.ts';
import { storedValue } from '../program/stored-value.ts';
import type { Stored } from '../sdk/stored.ts';
import { cancelRun } from '../service/runs/cancel-run.ts';
import { loadPayload } from '../service/run-log/payloads.ts';
import { readRunFold } from '../service/run-log/read-run-fold.ts';
import { sendToRun } from '../service/runs/send-signal.ts';
import { RunError, TestError } from './errors.ts';
import { type HistoryDocument } from '../engine/durable/history-document.ts';
import { readRunHistory } from './read-run-history.ts';
import type { TestEnv } from './test-env.ts';

/** The state of a step. */
export interface StepRecord {
  readonly key: string;
  readonly kind: Exclude<StepKind, 'workflow_task'>;
  readonly status: NodeState['status'];
  /** attempts so far, including the first */
  readonly attempts: number;
  /** of a completed step */
  readonly output?: JsonValue;
  /** of a step that has failed permanently */
  readonly error?: { readonly message: string; readonly cause: string; readonly code?: string };
}

export class TestRun<Output = unknown> {
  readonly id: string;
  readonly #address: RunAddress;
  readonly #env: TestEnv;

  constructor(env: TestEnv, address: RunAddress) {
    this.id = address.runId;
    this.#address = address;
    this.#env = env;
  }

  /**
   * Advances the run to its end and returns its output, as it is stored. Sleeps and waits take no real time.
   * @throws RunError where the run failed or was cancelled; NondeterminismError where a replay requests another step than before
   * (as a run would find out after a crash); TestError `run_blocked` where the run waits for a signal that was not sent
   */
  async result(): Promise<Stored<Output>> {
    await this.#env.runUntilEnded(this.id);
    const { progress } = (await this.#fold()).state;
    if (progress.status === 'failed') throw new RunError(this.id, { error: progress.error });
    if (progress.status === 'cancelled') throw new RunError(this.id, { reason: progress.reason });
    if (progress.status !== 'completed') throw new TestError('unexpected', `the run has ended, and is ${progress.status}`);
    // The output has the workflow's declared type, and was stored as JSON.
    return (await this.#valueOf(progress.output)) as Stored<Output>;
  }

  /** Sends a signal to this run: to `step.waitForSignal({ signal })` without a correlation. An early signal is stored for the wait. */
  async sendSignal(signal: string, data?: unknown): Promise<void> {
    const payload = jsonOf(data);
    const key = `${this.id}-${this.#env.nextNumber()}`;
    const request = { name: signal, payload, bodyHash: key, idempotencyKey: key };
    const response = await this.#env.call((worker) => sendToRun(worker, this.#address, request));
    if (response.kind === 'run_terminal') throw new TestError('run_ended', `run ${this.id} has ended: it is ${response.status}`);
  }

  /** Cancels the run. Its step functions are aborted by their AbortSignal, and steps with a rollback are undone. `result()` rejects. */
  async cancel(reason?: string): Promise<void> {
    const response = await this.#env.call((worker) => cancelRun(worker, this.#address, reason));
    if (response.kind === 'run_terminal') throw new TestError('run_ended', `run ${this.id} has ended: it is ${response.status}`);
  }

  /** The requested steps, in order. */
  async steps(): Promise<readonly StepRecord[]> {
    const { state } = await this.#fold();
    const nodes = [...state.nodes.entries()].map(([, node]) => node);
    const records = await Promise.all(nodes.map((node) => this.#recordOf(node)));
    return records.flatMap((record) => record ?? []);
  }

  /** The history, as a document to be saved and replayed: `replay(workflow, history)`. */
  async history(): Promise<HistoryDocument> {
    return readRunHistory(this.#env.readDeps, this.#address);
  }

  async #recordOf(node: NodeState): Promise<StepRecord | undefined> {
    const step = 'step' in node ? node.step : undefined;
    if (step === undefined || step.kind === 'workflow_task' || node.status === 'skipped') return undefined;
    const { key, kind } = step;
    const record = { key, kind, status: node.status, attempts: node.attempt };
    if (node.status === 'completed') return { ...record, output: await this.#valueOf(node.output) };
    if (node.status !== 'failed' && node.status !== 'timed_out') return record;
    const { message, cause, code } = node.failure;
    return { ...record, error: defined({ message, cause, code }) };
  }

  async #valueOf(payload: Payload): Promise<JsonValue> {
    return 'value' in payload ? payload.value : loadPayload(this.#env.readDeps, this.#address, payload.ref);
  }

  async #fold() {
    const fold = await readRunFold(this.#env.readDeps, this.#address);
    if (fold === undefined) throw new TestError('unexpected', `run ${this.id} does not exist`);
    return fold;
  }
}

/** Converts the value as a request would. */
export function jsonOf(input: unknown): JsonValue {
  const storing = storedValue(input, 'input');
  if (storing.kind === 'stored') return storing.value;
  throw new TestError('input_invalid', storing.failure.message);
}
