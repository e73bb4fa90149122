/** Wires the runtimes of deployed code: threads of this process, which is the code function or a worker process. */
import { codeVariables } from '../../lib/api/schemas/code-variables.ts';
import { AssumedRole } from '../../lib/aws/assumed-role.ts';
import { queueClient, sessionClient, waitingQueueClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { settingsErrorOf } from '../../lib/aws/settings-error.ts';
import { SqsWorkQueue } from '../../lib/aws/work-queue.ts';
import { defined } from '../../lib/base/defined.ts';
import { LocalBundles } from '../../lib/bundles/local-bundles.ts';
import { ThreadPrograms } from '../../lib/bundles/thread-programs.ts';
import { ThreadSlots, heapShare } from '../../lib/bundles/thread-slots.ts';
import type { DeploymentId } from '../../lib/engine/ids.ts';
import type { WorkQueue } from '../../lib/ports/work-queue.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { storedSetting } from '../settings-wiring.ts';
import { devKitRuntimes } from './devkit-wiring.ts';

export interface CodeHostOptions {
  /** of the process */
  readonly memoryMb: number;
  /** directory for unpacked artifacts, with no other content; default: a directory in the temporary directory */
  readonly folder?: string;
  /** takes what code prints */
  readonly print: (line: object) => void;
  readonly logger: Parameters<typeof devKitRuntimes>[1];
}

export interface CodeRuntimes extends Pick<ReturnType<typeof devKitRuntimes>, 'apps'> {
  readonly bundles: LocalBundles;
  readonly programs: ThreadPrograms;
}

/** Both runtimes share the thread slots and the artifact directories. */
export function createCodeRuntimes(decider: Decider, { memoryMb, folder, print, logger }: CodeHostOptions): CodeRuntimes {
  const { codeRoleArn } = settingsFrom(process.env);
  const { deps: ports } = decider;
  const { world, apps } = devKitRuntimes(decider, logger);
  const role = codeRoleArn === undefined ? undefined : new AssumedRole(sessionClient(), codeRoleArn, ports.clock);
  const host = defined({
    threadSlots: new ThreadSlots(defined({ artifacts: ports.artifacts, folder })),
    clock: ports.clock,
    memoryMb: Math.floor(memoryMb * heapShare),
    print,
    world,
    variables: storedSetting('codeVariables', codeVariables),
    readCredentialVariables: role === undefined ? undefined : (deploymentId: DeploymentId) => role.variables(deploymentId),
  });
  return { bundles: new LocalBundles(host), programs: new ThreadPrograms(host), apps };
}

export { settingsErrorOf };

export const codeQueue = (): WorkQueue =>
  new SqsWorkQueue({ client: queueClient(), longPollClient: waitingQueueClient() }, settingsFrom(process.env).codeQueueUrl);
