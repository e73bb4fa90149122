/**
 * What a protocol of logs, queues and timers is known to break by, and the planted bugs that take the rule against it away.
 * Each must be caught, and the same weather be green with the rule.
 */
export interface BugScenario {
  readonly description: string;
  /** by their names */
  readonly bugs: readonly string[];
}

export const bugScenarios: readonly BugScenario[] = [
  {
    description: 'With no fault at all a message comes before its receiver’s kept fold knows of what it asks for',
    bugs: ['a fold that is older than its message is used as it is'],
  },
  {
    description: 'A start is acknowledged and its run never made; a head says something else than the log',
    bugs: ['a start is answered before its run exists', 'a head is never told of the end'],
  },
  {
    description: 'A run is begun by one who dies at once, and nobody has it on a list of runs to look at',
    bugs: ['a run is not to be looked at when it begins', 'a run is to be looked at only once it exists'],
  },
  {
    description: 'Timers are lost, late and doubled while processes die and answers are torn',
    bugs: ['a sleeper whose alarm was lost is not woken'],
  },
  {
    description:
      'The sweep judges a run as a whole: a branch at work hides a dead one, or a dead one has a healthy one done again',
    bugs: ['a run is judged as a whole: one node at work hides the others', 'a node is silent however young it is'],
  },
  { description: 'Healthy runs stand behind a backlog', bugs: ['silence fails a node'] },
  {
    description: 'A late duplicate comes into a wide fan-out, and whatever is outstanding is sent again',
    bugs: ['a node is silent however young it is', 'each delivery does its attempt twice'],
  },
  {
    description: 'A called run ends and its process dies before the caller is told',
    bugs: ['a caller is never told', 'the last duties of an ended run are not done again'],
  },
  {
    description: 'A signal to a parked run is committed by an API that dies before its sends',
    bugs: ['a run is told something by one who holds no message, and nobody looks after it'],
  },
  { description: 'A race of code is decided anew when its turn was overtaken', bugs: ['a lost turn is decided anew'] },
  {
    description: 'An answer is lost, and who put does not know its own commit again',
    bugs: ['each try of a put has a nonce of its own', 'a commit of one’s own in the slot is not known as one’s own'],
  },
  { description: 'A page of the log is torn, and a commit in the middle is missing', bugs: ['a log is folded over a hole'] },
];
