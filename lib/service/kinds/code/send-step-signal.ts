/** Sends the signal of a `signal-send` step. The signal's id is derived from the step, so a second send is the same signal. */
import type { Command, StepResult } from '../../../engine/durable/command-batch.ts';
import { maxSignalTextLength } from '../../../engine/ids.ts';
import type { JsonValue } from '../../../engine/json.ts';
import type { Failure } from '../../../engine/log/events.ts';
import type { CodeHead } from '../../../engine/log/head.ts';
import { durationMs } from '../../../engine/time.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { originFields } from '../../commit/job-messages.ts';
import type { Deps } from '../../deps.ts';
import { retryUnavailable } from '../../run-log/retry-unavailable.ts';
import { signalIdOfStep } from '../../runs/handle-signal-job.ts';

type SignalSendCommand = Extract<Command, { kind: 'signal-send' }>;

/** Of the signal's data as JSON; the same as the limit of a request body. */
const maxDataBytes = 262_144;

/** If the queue stays unavailable the result is a failure of the step, which the step's retry policy handles. */
export async function sendStepSignal(deps: Deps, head: CodeHead, command: SignalSendCommand): Promise<StepResult<JsonValue>> {
  const { clock } = deps;
  const failed = (failure: Failure): StepResult<JsonValue> => ({ status: 'failed', failure, endedAt: clock.now() });
  const invalidReason = invalidReasonOf(command);
  if (invalidReason !== undefined) return failed({ cause: 'invalid', code: 'signal_invalid', message: invalidReason });
  try {
    await retryUnavailable(clock, () => send(deps, head, command));
    return { status: 'completed', output: { signalId: signalIdOfStep(head.address, command.key) }, endedAt: clock.now() };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const message = `signal ${command.signal} could not be sent: ${error.message}`;
    return failed({ cause: 'provider_error', code: 'signal_not_sent', message });
  }
}

/** The worker stores the signal and matches it with a wait. The code function has no permission to write there. */
const send = (
  { jobs }: Pick<Deps, 'jobs'>,
  head: CodeHead,
  { key, signal: name, correlation, data }: SignalSendCommand,
): Promise<void> =>
  jobs.sendDelayed({ kind: 'signal', ...originFields(head), key, name, correlation, payload: data }, durationMs(0));

function invalidReasonOf({ signal, correlation, data }: SignalSendCommand): string | undefined {
  for (const [label, text] of Object.entries({ 'signal name': signal, correlation })) {
    if (text.length === 0 || text.length > maxSignalTextLength)
      return `the ${label} must have 1 to ${maxSignalTextLength} characters, but has ${text.length}`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes > maxDataBytes ? `the signal data has ${bytes} bytes, more than the limit of ${maxDataBytes}` : undefined;
}
