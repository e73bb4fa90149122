/**
 * The fault profiles in which planted bugs are searched. The unchanged code passes in each of them
 * (`planted-bugs.deep.test.ts`).
 */
import { type FaultRates, noFaults, chaosFaults } from '../faults.ts';

export const faultProfiles = {
  none: noFaults,
  chaos: chaosFaults,
  /** no process dies, and no one is told so */
  'lost answers': { ...noFaults, lostAnswer: 0.02 },
  /** what comes, comes late, and more than once; clocks are right */
  stragglers: { ...noFaults, duplicate: 0.3, late: 0.3, undeleted: 0.1 },
  /** alarms come early; clocks are right */
  'early alarms': { ...noFaults, earlyTimer: 0.5, doubleTimer: 0.2 },
  /** half of all alarms never go off, and nothing else goes wrong */
  'lost alarms': { ...noFaults, lostTimer: 0.5 },
  /** processes stand still and come back, and what they ask for lands late */
  'frozen processes': { ...noFaults, frozen: 0.02, slow: 0.1, wrongClock: 0.01 },
  /** two in three deliveries go to somebody who dies at once, so that one message in seven is given up */
  'lost deliveries': { ...noFaults, lostDelivery: 0.67 },
  /** no alarm ever goes off, and the clocks of those who see to that go back and forth */
  'jumping clocks': { ...noFaults, clockJump: 0.1, refused: 0.1, lostTimer: 1 },
  /** stores refuse for seconds whatever they are asked, and no process dies */
  'throttled stores': { ...noFaults, throttled: 0.03 },
  /** a message in three comes behind the next one */
  'overtaken messages': { ...noFaults, reordered: 0.3 },
  /** of several messages that are sent together only some arrive, and of those that are taken together some come back */
  'parted batches': { ...noFaults, partlySent: 0.5, partlyFailed: 0.5, stood: 0.3 },
} as const satisfies Record<string, FaultRates>;

export type FaultProfile = keyof typeof faultProfiles;
