/** Scenarios of a signal that its sender repeats, and of one whose wait ends meanwhile. */
import { signalId } from '../../lib/engine/ids.ts';
import { hours } from '../../lib/engine/time.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { beforeClaimedStore } from '../service/before-claimed-store.ts';
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

/** @throws a violation where a signal is acknowledged as delivered to a run that was cancelled before it could receive it */
export async function aSignalWhoseWaitEndsFirst(): Promise<void> {
  let cancels = 0;
  const cancel = (): Promise<unknown> => {
    cancels += 1;
    return cancelRun(env.worker, run);
  };
  const env = createTestEnv({ wrap: beforeClaimedStore(cancel) });
  await env.publish(workflow('flow', 'a>s s>b', { s: place }));
  const run = await env.begin('flow');
  await env.settle();
  const sent = await sendSignal(env.worker, scope, { ...place, payload: 5, bodyHash: 'one' });
  runInvariant(11, cancels === 1, 'the sender did not find the wait');
  runInvariant(11, sent.kind === 'sent' && !sent.isDelivered, 'a signal counts as delivered to a run that was cancelled');
}
