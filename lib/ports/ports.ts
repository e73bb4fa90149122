/** All ports in one type. A use case in `lib/service` takes only the ports that it needs. */
import type { ControlPorts } from './control.ts';
import type { CoordinationPorts } from './coordination.ts';
import type { DeploymentPorts } from './deployments.ts';
import type { DevKitPorts } from './devkit.ts';
import type { MessagingPorts } from './jobs.ts';
import type { RunRecordPorts } from './run-records.ts';
import type { SchedulePorts } from './schedules.ts';
import type { SystemPorts } from './system.ts';
import type { DefinitionPorts } from './versions.ts';
import type { WatchingPorts } from './watching.ts';

export interface Ports
  extends
    SystemPorts,
    RunRecordPorts,
    MessagingPorts,
    CoordinationPorts,
    SchedulePorts,
    DefinitionPorts,
    DeploymentPorts,
    DevKitPorts,
    ControlPorts,
    WatchingPorts {}
