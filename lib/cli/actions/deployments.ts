/** `stepwell activate`, `rollback` and `deployments …`. */
import * as z from 'zod';
import { compareDeployments, type DeploymentChange, formatChange } from './compare-deployments.ts';
import type { Action, CommandContext, Outcome } from '../command.ts';
import { formatStatus, formatTable } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import { deploymentId, omitUndefined, parseArgument, parseOptions } from '../parse-command-line.ts';
import type { StepwellClient } from '../../client/index.ts';

const rollbackShape = z.object({ deploymentId: deploymentId.optional() });

export const activate: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  return activationOutcome(context, client, await client.activateDeployment(id, { signal: context.signal }));
};

export const rollback: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, rollbackShape);
  const client = await context.client();
  const body = omitUndefined({ deploymentId: options.deploymentId });
  return activationOutcome(context, client, await client.rollbackDeployment(body, { signal: context.signal }));
};

async function activationOutcome(
  context: CommandContext,
  client: StepwellClient,
  activated: Awaited<ReturnType<StepwellClient['activateDeployment']>>,
): Promise<Outcome> {
  const { deploymentId: id, previousDeploymentId } = activated;
  const change = await compareDeployments(client, context, previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: formatChange(context, change, id).join('\n') };
}

export const workflowsIn = ({ added, removed, changed }: DeploymentChange) => ({ added, removed, changed });

const listDeploymentsOptions = z.object(listOptions);

export const listDeployments: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, listDeploymentsOptions);
  const client = await context.client();
  const found = await readRows(options, (page) => client.listDeployments(page, { signal: context.signal }));
  const rows = found.items.map((each) => [
    each.deploymentId,
    formatStatus(context, each.status),
    each.createdAt,
    each.activatedAt ?? '',
    String(each.artifact.bytes),
    each.workflows.map(({ name }) => name).join(', '),
  ]);
  const headers = ['deployment', 'status', 'created', 'activated', 'bytes', 'workflows'];
  const text =
    rows.length === 0 ? 'No deployment matches.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

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

export const removeDeployment: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  const removed = await client.removeDeployment(id, { signal: context.signal });
  return { data: removed, text: `${id} is removed; its id cannot be used again.` };
};
