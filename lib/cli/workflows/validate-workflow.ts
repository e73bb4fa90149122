import { readBodyFile } from '../body-file.ts';
import { type Action, exitCodes } from '../command.ts';
import { parseArgument, file } from '../parse-command-line.ts';
import { formatFindings } from '../versions/format-findings.ts';
import type { WorkflowBody } from '../versions/versioned-resource.ts';

export const validateWorkflow: Action = async (commandLine, context) => {
  const path = parseArgument(commandLine, 0, 'file', file);
  const definition = readBodyFile<WorkflowBody & { name?: string }>(context.cwd, path);
  const client = await context.client();
  const validation = await client.validateWorkflow(definition, { signal: context.signal });
  const { valid, findings } = validation;
  const resultLine = valid ? context.colorize('good', `✓ ${path} is valid`) : context.colorize('bad', `✗ ${path} has errors`);
  const successExitCode = findings.length > 0 ? exitCodes.warned : exitCodes.ok;
  return {
    data: validation,
    text: [...formatFindings(findings), resultLine].join('\n'),
    exitCode: valid ? successExitCode : exitCodes.failed,
  };
};
