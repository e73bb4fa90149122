/**
 * The fault profiles in which planted bugs are searched. The unchanged code passes in each of them
 * (`planted-bugs.deep.test.ts`).
 */
import { type FaultRates, noFaults, chaosFaults } from '../faults.ts';

export const faultProfiles = {
  none: noFaults,
  chaos: chaosFaults,
  /** all faults but wrong clocks */
  'right clocks': { ...chaosFaults, wrongClock: 0, clockJump: 0 },
  /** responses are lost; no process crashes */
  'lost answers': { ...noFaults, lostAnswer: 0.02 },
  /** messages arrive late and more than once; clocks are right */
  stragglers: { ...noFaults, duplicate: 0.3, late: 0.3, undeleted: 0.1 },
  /** messages arrive late, twice or in another order; each is deleted, so no process executes an attempt again */
  'late messages': { ...noFaults, duplicate: 0.3, late: 0.3, reordered: 0.1 },
  /** timers fire early; clocks are right */
  'early alarms': { ...noFaults, earlyTimer: 0.5, doubleTimer: 0.2 },
  /** half of all timers do not fire; no other faults */
  'lost alarms': { ...noFaults, lostTimer: 0.5 },
  /** processes pause, and their requests take effect late */
  'frozen processes': { ...noFaults, frozen: 0.02, slow: 0.1, wrongClock: 0.01 },
  /** in two of three deliveries the receiver crashes at once, so that one message in seven becomes a dead letter */
  'lost deliveries': { ...noFaults, lostDelivery: 0.67 },
  /** no timer fires, and the clocks of sweeps jump */
  'jumping clocks': { ...noFaults, clockJump: 0.1, refused: 0.1, lostTimer: 1 },
  /** stores refuse all requests for seconds; no process crashes */
  'throttled stores': { ...noFaults, throttled: 0.03 },
  /** one of three messages arrives after the next one */
  'overtaken messages': { ...noFaults, reordered: 0.3 },
  /** a part of a sent batch does not arrive, and a part of a received batch is redelivered */
  'parted batches': { ...noFaults, partlySent: 0.5, partlyFailed: 0.5, stood: 0.3 },
} as const satisfies Record<string, FaultRates>;

export type FaultProfile = keyof typeof faultProfiles;
