/** The person follows new events of the timeline, or leaves its end. */
export class FollowEvent extends Event {
  readonly follows: boolean;

  constructor(follows: boolean) {
    super("callboard-follow", { bubbles: true, composed: true });
    this.follows = follows;
  }
}
