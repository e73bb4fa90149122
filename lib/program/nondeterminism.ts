/** The code asks for something else than it did when its history was written. */
import { defined } from '../engine/defined.ts';
import type { HistoryEntry } from '../engine/durable/command-batch.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import type { PendingStep } from './step-request.ts';

type Recorded = Extract<HistoryEntry<JsonValue>, { kind: 'scheduled' }>;
type ActualStep = Pick<PendingStep, 'key' | 'kind' | 'target'>;

export const isSameStep = (recorded: Recorded, actual: ActualStep): boolean =>
  recorded.key === actual.key && recorded.step === actual.kind && recorded.target === actual.target;

/** @param actual what the code did instead: it asked for this, it ended, or it did nothing for so long */
export function nondeterministicEnd(
  deploymentId: string,
  /** which of the steps that were asked for, from 1 */
  position: number,
  recorded: Recorded,
  actual: ActualStep | 'returned' | 'threw' | { readonly waitedMs: number },
): WorkflowTaskEnd {
  const recordedStep = { key: recorded.key, kind: recorded.step, target: recorded.target };
  const recordedDescription = describeStep(recordedStep);
  return {
    kind: 'nondeterministic',
    message: `step ${position} of this run is ${recordedDescription}, and the code of deployment ${deploymentId} ${describeActual(actual)}`,
    details: {
      deploymentId,
      position,
      recorded: stepRecord(recordedStep),
      requested: typeof actual === 'object' && 'key' in actual ? stepRecord(actual) : null,
    },
  };
}

function describeActual(actual: Parameters<typeof nondeterministicEnd>[3]): string {
  if (actual === 'returned') return 'returns before it asks for it';
  if (actual === 'threw') return 'throws before it asks for it';
  return 'waitedMs' in actual ? `did not ask for it within ${actual.waitedMs} ms` : `asks for ${describeStep(actual)}`;
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
