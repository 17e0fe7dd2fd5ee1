import { Component, type ReactNode } from "react";

interface BoundaryProps {
  /** Another place is another try. */
  place: string;
  children: ReactNode;
}

/** A view that breaks takes nothing else with it, and says so. */
export class Boundary extends Component<BoundaryProps, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate({ place }: BoundaryProps): void {
    if (place !== this.props.place && this.state.error) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="trouble stack" role="alert">
        <p className="strong">This view failed to render. No data is lost.</p>
        <pre>{error.message}</pre>
        <div>
          <button type="button" onClick={() => location.reload()}>
            Reload the page
          </button>
        </div>
      </div>
    );
  }
}
