/** `stepwell activate`, `deactivate`, `rollback` and `deployments …`. */
import * as z from 'zod';
import { compareDeployments, formatChange, workflowsIn } from './compare-deployments.ts';
import { type Action, type CommandContext, type Outcome, exitCodes } from '../command.ts';
import { formatStatus, formatTable } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import { confirmingRemoval } from './deploy.ts';
import { appName, deploymentId, omitUndefined, parseArgument, parseOptions } from '../parse-command-line.ts';
import type { StepwellClient } from '../../client/index.ts';

const changeOptions = { yes: z.boolean().default(false) };
const activateOptions = z.object(changeOptions);
const rollbackOptions = z.object({ ...changeOptions, app: appName.optional(), deploymentId: deploymentId.optional() });

export const activate: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const { yes } = parseOptions(commandLine, activateOptions);
  const client = await context.client();
  const { signal } = context;
  const activated = await confirmingRemoval(context, yes, (body) => client.activateDeployment(id, body, { signal }));
  return activationOutcome(context, client, activated);
};

export const deactivate: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const { yes } = parseOptions(commandLine, activateOptions);
  const client = await context.client();
  const { signal } = context;
  const deactivated = await confirmingRemoval(context, yes, (body) => client.deactivateDeployment(id, body, { signal }));
  return { data: deactivated, text: `The app ${deactivated.app} has no active deployment; open runs stay on theirs.` };
};

export const rollback: Action = async (commandLine, context) => {
  const { yes, ...options } = parseOptions(commandLine, rollbackOptions);
  const client = await context.client();
  const { signal } = context;
  const target = omitUndefined(options);
  const activated = await confirmingRemoval(context, yes, (body) =>
    client.rollbackDeployment({ ...target, ...body }, { signal }),
  );
  return activationOutcome(context, client, activated);
};

async function activationOutcome(
  context: CommandContext,
  client: StepwellClient,
  activated: Awaited<ReturnType<StepwellClient['activateDeployment']>>,
): Promise<Outcome> {
  const { deploymentId: id, previousDeploymentId } = activated;
  const change = await compareDeployments(client, context, previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: formatChange(context, change, activated).join('\n') };
}

const listDeploymentsOptions = z.object(listOptions);

export const listDeployments: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, listDeploymentsOptions);
  const client = await context.client();
  const found = await readRows(options, (page) => client.listDeployments(page, { signal: context.signal }));
  const rows = found.items.map((each) => [
    each.deploymentId,
    each.app,
    formatStatus(context, each.status),
    each.createdAt,
    each.activatedAt ?? '',
    String(each.artifact.bytes),
    String(each.openRuns),
    each.workflows.map(({ name }) => name).join(', '),
  ]);
  const headers = ['deployment', 'app', 'status', 'created', 'activated', 'bytes', 'open runs', 'workflows'];
  const text =
    rows.length === 0 ? 'No deployment matches.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

const showOptions = z.object({ app: appName.optional() });

export const showDeployment: Action = async (commandLine, context) => {
  const named = commandLine.args.length === 0 ? undefined : parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const options = parseOptions(commandLine, showOptions);
  const client = await context.client();
  const id = named ?? (await client.getActiveDeployment(omitUndefined(options), { signal: context.signal })).deploymentId;
  const deployment = await client.getDeployment(id, { signal: context.signal });
  const text = [
    `${context.colorize('bold', id)}  ${formatStatus(context, deployment.status)}`,
    `app        ${deployment.app}`,
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

/** Without an answer the command fails, so that a script can wait for one. */
export const checkHealth: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  const health = await client.checkDeploymentHealth(id, { signal: context.signal });
  const { healthy, latencyMs, sdkVersion } = health;
  const text = healthy
    ? `${id} answered after ${latencyMs} ms${sdkVersion === undefined ? '' : `, with Workflow DevKit ${sdkVersion}`}.`
    : `${id} did not answer within ${latencyMs} ms: see its output in the log of the code function.`;
  return { data: health, text, exitCode: healthy ? exitCodes.ok : exitCodes.failed };
};

export const listApps: Action = async (_commandLine, context) => {
  const client = await context.client();
  const { data } = await client.listApps({ signal: context.signal });
  const rows = data.map(({ app, deploymentId: id, activatedAt, workflows }) => [app, id, activatedAt, workflows.join(', ')]);
  const text =
    rows.length === 0
      ? 'No app has an active deployment.'
      : formatTable(context, ['app', 'active deployment', 'activated', 'workflows'], rows);
  return { data: { items: data }, text };
};

export const removeDeployment: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  const removed = await client.removeDeployment(id, { signal: context.signal });
  return { data: removed, text: `${id} is removed; its id cannot be used again.` };
};
