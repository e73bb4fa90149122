/** The part of docs/LIMITS.md about deployments and the code in them. */
import { codeWorkflows } from './code-workflows.ts';
import { deployedCode } from './deployed-code.ts';
import { devKitRuns } from './devkit.ts';
import { deployments } from './deployments.ts';
import type { LimitPart } from './limit.ts';

export const code: LimitPart = {
  title: 'Code',
  intro: 'These limits apply to artifacts that are uploaded, and to the code in them.',
  sections: [deployments, deployedCode, codeWorkflows, devKitRuns],
};
