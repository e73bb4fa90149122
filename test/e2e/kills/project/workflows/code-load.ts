/** The deployed code of the load, whose steps have external effects. */
import { setTimeout as wait } from 'node:timers/promises';
import type { StepContext } from 'stepwell/sdk';
import { type StepEffects, workflowOf } from '../../../../simulation/random-code.ts';
import { codeWorkflows, leafOfCode } from '../../code-load.ts';
import { effectServerUrl } from '../../effect-server-address.ts';

const mark = async (kind: 'step' | 'undo', runId: string, { key, attempt }: StepContext): Promise<void> => {
  const path = [kind, runId, key, String(attempt)].map(encodeURIComponent).join('/');
  const response = await fetch(`${effectServerUrl}/${path}`, { method: 'POST' });
  await response.text();
};

/** A started step function records its effect before it continues. */
const marked = new WeakMap<AbortSignal, Promise<void>>();
const world: StepEffects = {
  began: (runId, context) => void marked.set(context.signal, mark('step', runId, context)),
  undone: (runId, context) => mark('undo', runId, context),
  sleep: async (ms, signal) => {
    await marked.get(signal);
    await wait(ms, undefined, { signal }).catch(() => undefined);
  },
};

/** Each workflow needs a named export. */
export const [
  leaf,
  w0,
  w1,
  w2,
  w3,
  w4,
  w5,
  w6,
  w7,
  w8,
  w9,
  w10,
  w11,
  w12,
  w13,
  w14,
  w15,
  w16,
  w17,
  w18,
  w19,
  w20,
  w21,
  w22,
  w23,
] = [leafOfCode, ...codeWorkflows].map((workflow) => workflowOf(workflow, world));
