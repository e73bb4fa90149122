/** An implementation of a port, as the subject of the port's contract suite. */
export interface Opened<Port> {
  readonly port: Port;
  readonly close: () => Promise<void>;
}

export interface Subject<Port> {
  readonly name: string;
  readonly open: () => Promise<Opened<Port>>;
}
