/** All ports on AWS. Each is created at its first use, so a function needs only the settings of the ports that it uses. */
import { lazyProperties } from '../base/lazy.ts';
import type { Ports } from '../ports/ports.ts';
import { controlPorts } from './control.ts';
import { deploymentPorts } from './deployments.ts';
import { devKitPorts } from './devkit.ts';
import type { Settings } from './environment.ts';
import { coordinationPorts, messagingPorts } from './messaging.ts';
import { metricsOf } from './metrics.ts';
import { noticesOf } from './notices.ts';
import { definitionPorts } from './published.ts';
import { resourcesOf } from './resources.ts';
import { type RunRecordChoices, runRecordPorts } from './run-records.ts';
import { schedulePorts } from './schedules.ts';
import { watchingPorts } from './watching.ts';

/** Wrappers around adapters, for tests and for the hop limiter. */
interface PortWrappers {
  jobs(jobs: Ports['jobs']): Ports['jobs'];
  log(log: Ports['log']): Ports['log'];
}
const noWrappers: PortWrappers = { jobs: (jobs) => jobs, log: (log) => log };

export type PortChoices = RunRecordChoices;

export const awsPorts = (settings: Settings, wrappers = noWrappers, choices: PortChoices = {}): Ports => {
  const resources = resourcesOf(settings);
  return lazyProperties<Ports>({
    clock: () => resources.clock,
    ids: () => resources.ids,
    metrics: () => metricsOf(settings),
    notices: () => noticesOf(settings),
    ...runRecordPorts(resources, (log) => wrappers.log(log), choices),
    ...messagingPorts(resources, (jobs) => wrappers.jobs(jobs)),
    ...coordinationPorts(resources),
    ...schedulePorts(resources),
    ...definitionPorts(resources),
    ...deploymentPorts(resources),
    ...devKitPorts(resources),
    ...controlPorts(resources),
    ...watchingPorts(resources),
  });
};
