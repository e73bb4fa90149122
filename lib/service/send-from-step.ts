/** Sends the signal that a step of a code run asks for. Its id follows from the step, so sent twice it is the same signal. */
import { createHash } from 'node:crypto';
import type { Command, StepResult } from '../engine/durable/turn.ts';
import { signalId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { CodeHead } from '../engine/log/head.ts';
import { longestSignalWord } from '../engine/signal.ts';
import { after, days, instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Decider } from './decide-run.ts';
import { patiently } from './patiently.ts';
import { keepAndMeet, keptByDefault } from './send-signal.ts';

type Sending = Extract<Command, { kind: 'signal-send' }>;

/** Of what a signal brings, as JSON: the body of a request holds as much. */
const largestDataBytes = 262_144;

/** Never throws for trouble of the moment: that is a failure of the step, which has tries of its own. */
export async function sendFromStep(decider: Decider, head: CodeHead, command: Sending): Promise<StepResult<JsonValue>> {
  const { clock } = decider.deps;
  const failed = (failure: Failure): StepResult<JsonValue> => ({ status: 'failed', failure, endedAt: clock.now() });
  const fault = faultOf(command);
  if (fault !== undefined) return failed({ cause: 'invalid', code: 'signal_invalid', message: fault });
  try {
    const delivered = await patiently(clock, () => send(decider, head, command));
    return { status: 'completed', output: { signalId: idOf(head, command), delivered }, endedAt: clock.now() };
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
    const message = `the signal ${command.signal} could not be sent: ${trouble.message}`;
    return failed({ cause: 'provider_error', code: 'signal_not_sent', message });
  }
}

function send(decider: Decider, head: CodeHead, { signal: name, correlation, data, ...step }: Sending): Promise<boolean> {
  const { projectId, environment } = head.address;
  const receivedAt = decider.deps.clock.now();
  const keptUntil = after(receivedAt, keptByDefault);
  return keepAndMeet(
    decider,
    { projectId, environment, name, correlation },
    {
      signalId: idOf(head, step),
      payload: data,
      receivedAt,
      keptUntil,
      // For as long as the run may send it again.
      forgetAt: after(instant(Math.max(keptUntil, head.deadlineAt)), days(1)),
    },
  );
}

const idOf = ({ address }: CodeHead, { key }: Pick<Sending, 'key'>) =>
  signalId(`sig_${createHash('sha256').update(`${address.runId}/${key}`).digest('base64url')}`);

function faultOf({ signal, correlation, data }: Sending): string | undefined {
  for (const [what, word] of Object.entries({ 'name of a signal': signal, correlation })) {
    if (word.length === 0 || word.length > longestSignalWord)
      return `a ${what} has 1 to ${longestSignalWord} characters, and this one ${word.length}`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes > largestDataBytes ? `what it brings has ${bytes} bytes, more than the limit of ${largestDataBytes}` : undefined;
}
