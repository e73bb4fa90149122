/** A scenario of a signal that its sender repeats. */
import { signalId } from '../../lib/engine/ids.ts';
import { hours } from '../../lib/engine/time.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { createTestEnv, scope, workflow } from '../service/test-env.ts';
import { runInvariant } from './violation.ts';

const place = { name: 'paid', correlation: 'order-9' };

/** @throws a violation where the response to a repeated signal tells what happened since the first one */
export async function aSignalThatIsSentAgain(): Promise<void> {
  const env = createTestEnv();
  const send = () =>
    sendSignal(env.worker, scope, { ...place, payload: 5, bodyHash: 'one', signalId: signalId('signal-1'), expiresIn: hours(1) });
  const isDelivered = (sent: Awaited<ReturnType<typeof send>>): string =>
    sent.kind === 'sent' ? String(sent.isDelivered) : sent.kind;
  const first = await send();
  await env.publish(workflow('flow', 'a>s s>b', { s: place }));
  const run = await env.begin('flow');
  await env.settle();
  const { status } = (await env.fold(run)).state.progress;
  runInvariant(9, status === 'completed', `a run whose signal was stored is ${status}`);
  const responses = `${isDelivered(first)} and ${isDelivered(await send())}`;
  runInvariant(9, responses === 'false and false', `the responses to a repeated signal say isDelivered ${responses}`);
}
