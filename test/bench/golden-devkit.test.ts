/** The bill of a run of the Workflow DevKit at the installed version, compared with its file of `bench/golden`. Other versions: `golden-devkit.deep.test.ts`. */
import { devkitVersions } from '../../bench/devkit/devkit-scenarios.ts';
import { countedDevKit } from './counted-devkit.ts';

countedDevKit(devkitVersions.pinned);
