/** Custom resource of CloudFormation: creates the first admin key and registers the configured keys during a deployment. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loggerOf } from '../wiring.ts';
import { handleResourceEvent } from './handle-resource-event.ts';
import { createProvisioningPorts } from './wiring.ts';

const deps = { ports: createProvisioningPorts(), logger: loggerOf('first-key'), sleep };

export const handler = (event: unknown): Promise<void> => handleResourceEvent(deps, event);
