/** Wires the runtimes of deployed code: threads of this process, which is the code function or a worker process. */
import { codeVariables } from '../../lib/api/schemas/code-variables.ts';
import { AssumedRole } from '../../lib/aws/assumed-role.ts';
import { sessionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { defined } from '../../lib/base/defined.ts';
import { LocalBundles } from '../../lib/bundles/local-bundles.ts';
import { ThreadPrograms } from '../../lib/bundles/thread-programs.ts';
import { ThreadSlots, heapShare } from '../../lib/bundles/thread-slots.ts';
import type { DeploymentId } from '../../lib/engine/ids.ts';
import type { AppCalls } from '../../lib/ports/devkit.ts';
import type { WorldCalls } from '../../lib/ports/world-calls.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { storedSetting } from '../settings-wiring.ts';
import { type ReportRefusedMessage, createAppCalls } from './app-wiring.ts';

export interface CodeHostOptions {
  /** of the process */
  readonly memoryMb: number;
  /** directory for unpacked artifacts, with no other content; default: a directory in the temporary directory */
  readonly folder?: string;
  /** takes what code prints */
  readonly print: (line: object) => void;
  /** serves apps of the Workflow DevKit */
  readonly world: WorldCalls;
  readonly reportRefusedMessage: ReportRefusedMessage;
}

/** Both runtimes share the thread slots and the artifact directories. */
export function createCodeRuntimes(
  ports: Pick<Deps, 'artifacts' | 'clock'>,
  { memoryMb, folder, print, world, reportRefusedMessage }: CodeHostOptions,
): { readonly bundles: LocalBundles; readonly programs: ThreadPrograms; readonly apps: AppCalls } {
  const { codeRoleArn, apiAddress } = settingsFrom(process.env);
  const role = codeRoleArn === undefined ? undefined : new AssumedRole(sessionClient(), codeRoleArn, ports.clock);
  const host = defined({
    threadSlots: new ThreadSlots(defined({ artifacts: ports.artifacts, folder })),
    clock: ports.clock,
    memoryMb: Math.floor(memoryMb * heapShare),
    print,
    world,
    apiAddress,
    variables: storedSetting('codeVariables', codeVariables),
    readCredentialVariables: role === undefined ? undefined : (deploymentId: DeploymentId) => role.variables(deploymentId),
  });
  const apps = createAppCalls(ports.clock, reportRefusedMessage);
  return { bundles: new LocalBundles(host), programs: new ThreadPrograms(host), apps };
}
