/** `activate` and `rollback`. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action, Outcome, CommandContext } from '../command.ts';
import { parseArgument, deploymentId, parseOptions, omitUndefined } from '../parse-command-line.ts';
import { type DeploymentChange, compareDeployments, formatChange } from './compare-deployments.ts';

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
