/** The part of docs/LIMITS.md about what clients and operators send and receive. */
import { access } from './access.ts';
import { answers } from './answers.ts';
import { definitions } from './definitions.ts';
import type { LimitPart } from './limit.ts';
import { requests } from './requests.ts';
import { schedules } from './schedules-and-queries.ts';
import { sessions } from './sessions.ts';
import { watching } from './watching.ts';

export const clientInterface: LimitPart = {
  title: 'Interface',
  intro: 'These limits apply to what clients and operators send to Stepwell, and to what they receive.',
  sections: [definitions, requests, answers, watching, schedules, access, sessions],
};
