import * as z from 'zod';
import { type Action, usageError } from '../command.ts';
import {
  parseArgument,
  deploymentId,
  idempotencyKey,
  timestamp,
  parseOptions,
  omitUndefined,
  runId,
  workflowName,
} from '../parse-command-line.ts';
import { readInput, inputOptions } from './input.ts';

const shape = z.object({
  ...inputOptions,
  idempotencyKey: idempotencyKey.optional(),
  contentKey: z.boolean().default(false),
  runId: runId.optional(),
  deployment: deploymentId.optional(),
  availableAt: timestamp.optional(),
  deadlineAt: timestamp.optional(),
});

export const startRun: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'workflow', workflowName);
  const options = parseOptions(commandLine, shape);
  const { idempotencyKey: requestedKey, contentKey, availableAt, deadlineAt, deployment } = options;
  if (contentKey && requestedKey !== undefined) throw usageError('--content-key and --idempotency-key exclude each other.');
  const input = readInput(context.cwd, options);
  const client = await context.client();
  const key = contentKey ? client.contentKey(name, input ?? {}) : requestedKey;
  const started = await client.trigger(
    { workflowName: name, ...omitUndefined({ input, runId: options.runId, deploymentId: deployment, availableAt, deadlineAt }) },
    { signal: context.signal, ...omitUndefined({ idempotencyKey: key }) },
  );
  context.log(`started; see what becomes of it: stepwell runs watch ${started.runId}`);
  return { data: started, text: started.runId };
};
