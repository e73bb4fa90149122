import { readBody } from '../body-file.ts';
import { type Action, exitCodes } from '../command.ts';
import { argument, file } from '../given.ts';
import { findingLines } from '../versions/finding-lines.ts';
import type { WorkflowBody } from '../versions/kinds.ts';

export const validateWorkflow: Action = async (given, shell) => {
  const path = argument(given, 0, 'file', file);
  const definition = readBody<WorkflowBody & { name?: string }>(shell.cwd, path);
  const client = await shell.client();
  const judged = await client.validateWorkflow(definition, { signal: shell.signal });
  const { valid, findings } = judged;
  const verdict = valid ? shell.paint('good', `✓ ${path} is valid`) : shell.paint('bad', `✗ ${path} has errors`);
  const warned = findings.length > 0 ? exitCodes.warned : exitCodes.ok;
  return { data: judged, text: [...findingLines(findings), verdict].join('\n'), exitCode: valid ? warned : exitCodes.failed };
};
