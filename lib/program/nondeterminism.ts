/** Nondeterminism errors: on replay the code requests another step than its history records. */
import { defined } from '../base/defined.ts';
import type { HistoryEntry } from '../engine/durable/command-batch.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import type { PendingStep } from './step-request.ts';

type Recorded = Extract<HistoryEntry<JsonValue>, { kind: 'scheduled' }>;
type ActualStep = Pick<PendingStep, 'key' | 'kind' | 'target'>;

export const isSameStep = (recorded: Recorded, actual: ActualStep): boolean =>
  recorded.key === actual.key && recorded.step === actual.kind && recorded.target === actual.target;

/** @param actual what the code did instead: requested another step, ended, or requested nothing for `waitedMs` */
export function nondeterministicEnd(
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
