import * as z from 'zod';
import { type Action, usageFault } from '../command.ts';
import { argument, deploymentId, idempotencyKey, moment, optionsIn, present, runId, workflowName } from '../given.ts';
import { inputIn, inputOptions } from './input.ts';

const shape = z.object({
  ...inputOptions,
  idempotencyKey: idempotencyKey.optional(),
  contentKey: z.boolean().default(false),
  runId: runId.optional(),
  deployment: deploymentId.optional(),
  availableAt: moment.optional(),
  deadlineAt: moment.optional(),
});

export const startRun: Action = async (given, shell) => {
  const name = argument(given, 0, 'workflow', workflowName);
  const options = optionsIn(given, shape);
  const { idempotencyKey: ownKey, contentKey, availableAt, deadlineAt, deployment } = options;
  if (contentKey && ownKey !== undefined) throw usageFault('--content-key and --idempotency-key exclude each other.');
  const input = inputIn(shell.cwd, options);
  const client = await shell.client();
  const key = contentKey ? client.contentKey(name, input ?? {}) : ownKey;
  const started = await client.trigger(
    { workflowName: name, ...present({ input, runId: options.runId, deploymentId: deployment, availableAt, deadlineAt }) },
    { signal: shell.signal, ...present({ idempotencyKey: key }) },
  );
  shell.note(`started; see what becomes of it: stepwell runs watch ${started.runId}`);
  return { data: started, text: started.runId };
};
