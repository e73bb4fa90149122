import type { Action } from '../command.ts';
import { parseArgument, deploymentId } from '../parse-command-line.ts';
import { formatStatus, formatTable } from '../format.ts';

export const showDeployment: Action = async (commandLine, context) => {
  const named = commandLine.args.length === 0 ? undefined : parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  const id = named ?? (await client.getActiveDeployment({ signal: context.signal })).deploymentId;
  const deployment = await client.getDeployment(id, { signal: context.signal });
  const text = [
    `${context.colorize('bold', id)}  ${formatStatus(context, deployment.status)}`,
    `created    ${deployment.createdAt}${deployment.createdBy === null ? '' : ` by ${deployment.createdBy}`}`,
    `verified   ${deployment.verifiedAt ?? 'not yet'}`,
    `activated  ${deployment.activatedAt ?? 'never'}`,
    `workflows  ${deployment.workflows.map(({ name }) => name).join(', ')}`,
    `steps      ${deployment.steps.map(({ name }) => name).join(', ')}`,
    '',
    formatTable(
      context,
      ['file', 'bytes', 'SHA-256'],
      deployment.files.map(({ path, bytes, sha256 }) => [path, String(bytes), sha256]),
    ),
  ];
  return { data: deployment, text: text.join('\n') };
};
