/** Replays a history: delivers its results in log order, and checks that the code requests the same steps again. */
import { defined } from '../base/defined.ts';
import type { HistoryEntry, StepResult } from '../engine/durable/command-batch.ts';
import type { JsonValue, JsonObject } from '../engine/json.ts';
import { after } from '../engine/time.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import { type ExecutionContext, isAborting } from './execution-context.ts';
import { type PendingStep, isWait } from './step-request.ts';
import type { WorkflowInvocation } from './workflow-invocation.ts';

type Entry = HistoryEntry<JsonValue>;
type RequestedEntry = Extract<Entry, { kind: 'scheduled' }>;

export class Replay {
  readonly #context: ExecutionContext;
  readonly #invocation: WorkflowInvocation;
  /** rollback steps and their results; undefined while a rollback is open */
  readonly rollbacks = new Map<string, StepResult<JsonValue> | undefined>();
  #position = 0;
  #appliedEntries = 0;

  constructor(context: ExecutionContext, invocation: WorkflowInvocation) {
    this.#context = context;
    this.#invocation = invocation;
  }

  /** number of history entries that the code has seen or caused */
  get appliedEntries(): number {
    return this.#appliedEntries;
  }

  countOwnEntries(entries: number): void {
    this.#appliedEntries += entries;
  }

  /** @returns the end of the workflow task; undefined when the history is applied or an interrupt must be handled first */
  async run(entries: readonly Entry[], enablesLogging = true): Promise<WorkflowTaskEnd | undefined> {
    const firstNewEntry = firstNewEntryIndex(entries);
    for (const [index, entry] of entries.entries()) {
      if (index >= firstNewEntry && enablesLogging) this.#invocation.goLive();
      const end = entry.kind === 'scheduled' ? await this.#match(entry) : await this.#settle(entry);
      if (end !== undefined || isAborting(this.#context.interrupts)) return end;
      this.#appliedEntries += 1;
    }
    return undefined;
  }

  /** The code requests another step under a key that an earlier attempt of the workflow has used. */
  nondeterminism(): WorkflowTaskEnd | undefined {
    const { nondeterminism } = this.#invocation;
    if (nondeterminism === undefined) return undefined;
    const { prior, step } = nondeterminism;
    const recorded = { kind: 'scheduled', key: prior.key, step: prior.step } as const;
    return nondeterministicEnd(this.#context.deploymentId, this.#position + 1, recorded, { ...step, key: prior.key });
  }

  async #settle({ key, result }: Extract<Entry, { kind: 'settled' }>): Promise<undefined> {
    if (this.rollbacks.has(key)) {
      this.rollbacks.set(key, result);
      return;
    }
    this.#invocation.settle(key, result);
    await this.#context.clock.waitUntilIdle();
  }

  async #match(recorded: RequestedEntry): Promise<WorkflowTaskEnd | undefined> {
    if (recorded.step === 'rollback') {
      this.rollbacks.set(recorded.key, undefined);
      return undefined;
    }
    this.#position += 1;
    const requested = this.#invocation.takeRequested() ?? (await this.#waitForStep());
    if (requested !== undefined && isSameStep(recorded, requested)) return undefined;
    const { deploymentId, stallTimeoutMs, interrupts } = this.#context;
    const nondeterminism = this.nondeterminism();
    if (nondeterminism !== undefined) return nondeterminism;
    if (requested === undefined && isAborting(interrupts)) return undefined;
    return nondeterministicEnd(
      deploymentId,
      this.#position,
      recorded,
      requested ?? this.#invocation.end?.kind ?? { waitedMs: stallTimeoutMs },
    );
  }

  /** The code awaits something that is not a step before it requests the next step. */
  async #waitForStep(): Promise<PendingStep | undefined> {
    const { clock, wakeUp, stallTimeoutMs, interrupts } = this.#context;
    const until = after(clock.now(), stallTimeoutMs);
    for (;;) {
      await clock.waitUntilIdle();
      const requested = this.#invocation.takeRequested();
      const hasEnded =
        this.#invocation.end !== undefined || this.#invocation.nondeterminism !== undefined || clock.now() >= until;
      if (requested !== undefined || hasEnded || isAborting(interrupts)) return requested;
      await wakeUp.wait(clock, until);
    }
  }
}

/** @returns the index of the first trailing wait result: the code has not seen these results yet */
function firstNewEntryIndex(entries: readonly Entry[]): number {
  const steps = new Set(
    entries.flatMap((entry) => (entry.kind === 'scheduled' && !isWait({ kind: entry.step }) ? [entry.key] : [])),
  );
  return 1 + entries.findLastIndex((entry) => entry.kind === 'scheduled' || steps.has(entry.key));
}

type Recorded = Extract<HistoryEntry<JsonValue>, { kind: 'scheduled' }>;
type ActualStep = Pick<PendingStep, 'key' | 'kind' | 'target'>;

const isSameStep = (recorded: Recorded, actual: ActualStep): boolean =>
  recorded.key === actual.key && recorded.step === actual.kind && recorded.target === actual.target;

/**
 * The nondeterminism error: on replay the code requests another step than its history records.
 * @param actual what the code did instead: requested another step, ended, or requested nothing for `waitedMs`
 */
function nondeterministicEnd(
  deploymentId: string,
  /** number of the requested step, from 1 */
  position: number,
  recorded: Recorded,
  actual: ActualStep | 'returned' | 'threw' | { readonly waitedMs: number },
): WorkflowTaskEnd {
  const recordedStep = { key: recorded.key, kind: recorded.step, target: recorded.target };
  const recordedDescription = describeStep(recordedStep);
  return {
    kind: 'nondeterministic',
    message: `step ${position} of this run is ${recordedDescription}, but the code of deployment ${deploymentId} ${describeActual(actual)}`,
    details: {
      deploymentId,
      position,
      recorded: stepRecord(recordedStep),
      requested: typeof actual === 'object' && 'key' in actual ? stepRecord(actual) : null,
    },
  };
}

function describeActual(actual: Parameters<typeof nondeterministicEnd>[3]): string {
  if (actual === 'returned') return 'returns before it requests this step';
  if (actual === 'threw') return 'throws before it requests this step';
  return 'waitedMs' in actual ? `did not request this step within ${actual.waitedMs} ms` : `requests ${describeStep(actual)}`;
}

const stepRecord = ({
  key,
  kind,
  target,
}: {
  readonly key: string;
  readonly kind: string;
  readonly target?: string | undefined;
}): JsonObject =>
  defined({
    key,
    kind,
    target,
  });

const describeStep = ({ key, kind, target }: Parameters<typeof stepRecord>[0]): string =>
  `${kind} ${JSON.stringify(key)}${target === undefined ? '' : ` (${target})`}`;
