/** The table of all run kinds. A new kind of head does not compile until it has an entry here, with every member. */
import type { RunKinds } from '../run-kind.ts';
import { bundleKind } from './bundle/bundle-kind.ts';
import { codeKind } from './code/code-kind.ts';
import { devKitKind } from './devkit/devkit-kind.ts';
import { graphKind } from './graph/graph-kind.ts';

export const runKinds: RunKinds = { graph: graphKind, code: codeKind, bundle: bundleKind, devkit: devKitKind };
