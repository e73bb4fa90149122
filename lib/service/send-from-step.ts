/** Sends the signal that a step of a code run asks for. Its id follows from the step, so sent twice it is the same signal. */
import type { Command, StepResult } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { CodeHead } from '../engine/log/head.ts';
import { longestSignalWord } from '../engine/signal.ts';
import { durationMs } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { ofRun } from './jobs-of.ts';
import { patiently } from './patiently.ts';
import { signalIdOfStep } from './take-signal.ts';

type Sending = Extract<Command, { kind: 'signal-send' }>;

/** Of what a signal brings, as JSON: the body of a request holds as much. */
const largestDataBytes = 262_144;

/** Never throws for trouble of the moment: that is a failure of the step, which has tries of its own. */
export async function sendFromStep(deps: Deps, head: CodeHead, command: Sending): Promise<StepResult<JsonValue>> {
  const { clock } = deps;
  const failed = (failure: Failure): StepResult<JsonValue> => ({ status: 'failed', failure, endedAt: clock.now() });
  const fault = faultOf(command);
  if (fault !== undefined) return failed({ cause: 'invalid', code: 'signal_invalid', message: fault });
  try {
    await patiently(clock, () => send(deps, head, command));
    return { status: 'completed', output: { signalId: signalIdOfStep(head.address, command.key) }, endedAt: clock.now() };
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
    const message = `the signal ${command.signal} could not be sent: ${trouble.message}`;
    return failed({ cause: 'provider_error', code: 'signal_not_sent', message });
  }
}

/** The worker keeps it, and gives it to whoever waits: neither is code's to write. (`take-signal.ts`) */
const send = ({ jobs }: Pick<Deps, 'jobs'>, head: CodeHead, { key, signal: name, correlation, data }: Sending): Promise<void> =>
  jobs.sendLater({ kind: 'signal', ...ofRun(head), key, name, correlation, payload: data }, durationMs(0));

function faultOf({ signal, correlation, data }: Sending): string | undefined {
  for (const [what, word] of Object.entries({ 'name of a signal': signal, correlation })) {
    if (word.length === 0 || word.length > longestSignalWord)
      return `a ${what} has 1 to ${longestSignalWord} characters, and this one ${word.length}`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes > largestDataBytes ? `what it brings has ${bytes} bytes, more than the limit of ${largestDataBytes}` : undefined;
}
