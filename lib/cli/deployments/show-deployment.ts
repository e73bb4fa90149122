import type { Action } from '../command.ts';
import { argument, deploymentId } from '../given.ts';
import { status, table } from '../words.ts';

export const showDeployment: Action = async (given, shell) => {
  const named = given.args.length === 0 ? undefined : argument(given, 0, 'deploymentId', deploymentId);
  const client = await shell.client();
  const id = named ?? (await client.getActiveDeployment({ signal: shell.signal })).deploymentId;
  const deployment = await client.getDeployment(id, { signal: shell.signal });
  const text = [
    `${shell.paint('bold', id)}  ${status(shell, deployment.status)}`,
    `created    ${deployment.createdAt}${deployment.createdBy === null ? '' : ` by ${deployment.createdBy}`}`,
    `verified   ${deployment.verifiedAt ?? 'not yet'}`,
    `activated  ${deployment.activatedAt ?? 'never'}`,
    `workflows  ${deployment.workflows.map(({ name }) => name).join(', ')}`,
    `steps      ${deployment.steps.map(({ name }) => name).join(', ')}`,
    '',
    table(
      shell,
      ['file', 'bytes', 'SHA-256'],
      deployment.files.map(({ path, bytes, sha256 }) => [path, String(bytes), sha256]),
    ),
  ];
  return { data: deployment, text: text.join('\n') };
};
