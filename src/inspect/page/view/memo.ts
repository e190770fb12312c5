/** A component that is drawn again only when one of its properties is another object or value. */
import { Component, type ComponentChild, type FunctionComponent } from 'preact';

export function memo<P extends object>(draw: (props: P) => ComponentChild): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Readonly<Record<string, unknown>>;
      return Object.entries(next).some(([key, value]) => before[key] !== value);
    }
    render(): ComponentChild {
      return draw(this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
