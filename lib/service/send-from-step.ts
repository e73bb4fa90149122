/** Sends the signal that a step of a code run asks for. Its id follows from the step, so sent twice it is the same signal. */
import { createHash } from 'node:crypto';
import type { Command, StepResult } from '../engine/durable/turn.ts';
import { signalId } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import type { CodeHead } from '../engine/log/head.ts';
import { longestSignalWord } from '../engine/signal.ts';
import { after, days, durationMs, instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { nudgeLater } from './later.ts';
import { patiently } from './patiently.ts';
import { keptByDefault } from './send-signal.ts';

type Sending = Extract<Command, { kind: 'signal-send' }>;

/** Of what a signal brings, as JSON: the body of a request holds as much. */
const largestDataBytes = 262_144;

/** Waiting runs that are asked to look; what is left is found by the sweep. */
const mostAsked = 10;

/** Never throws for trouble of the moment: that is a failure of the step, which has tries of its own. */
export async function sendFromStep(deps: Deps, head: CodeHead, command: Sending): Promise<StepResult<JsonValue>> {
  const { clock } = deps;
  const failed = (failure: Failure): StepResult<JsonValue> => ({ status: 'failed', failure, endedAt: clock.now() });
  const fault = faultOf(command);
  if (fault !== undefined) return failed({ cause: 'invalid', code: 'signal_invalid', message: fault });
  try {
    const delivered = await patiently(clock, () => send(deps, head, command));
    return { status: 'completed', output: { signalId: idOf(head, command), delivered }, endedAt: clock.now() };
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
    const message = `the signal ${command.signal} could not be sent: ${trouble.message}`;
    return failed({ cause: 'provider_error', code: 'signal_not_sent', message });
  }
}

/** Where somebody waits for it, whoever may move the waiting run is asked to look at it. @returns whether anybody does */
async function send(deps: Deps, head: CodeHead, { signal: name, correlation, data, ...step }: Sending): Promise<boolean> {
  const { projectId, environment } = head.address;
  const place = { projectId, environment, name, correlation };
  const receivedAt = deps.clock.now();
  const keptUntil = after(receivedAt, keptByDefault);
  await deps.signals.keep(place, {
    signalId: idOf(head, step),
    payload: data,
    receivedAt,
    keptUntil,
    // For as long as the run may send it again.
    forgetAt: after(instant(Math.max(keptUntil, head.deadlineAt)), days(1)),
  });
  const { waiters } = await deps.signals.at(place);
  // Some may have left only their names behind: the first that still waits is found by any of them that is looked at.
  for (const { runId } of waiters.slice(0, mostAsked))
    await nudgeLater(deps, { address: { projectId, environment, runId } }, durationMs(0));
  return waiters.length > 0;
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
