//! The API with our kinds on a port of one's own: `cargo run -p konfidence-apiserver --example serve 127.0.0.1:8001`,
//! then `kubectl --server http://127.0.0.1:8001 get namespaces`.

use konfidence_apiserver::ApiServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("ready: http://{}", listener.local_addr()?);
    let server = ApiServer::builder().our_kinds().build()?;
    let interrupted = async {
        // Without the signal there is nothing to wait for but the end of the process.
        let _ = tokio::signal::ctrl_c().await;
    };
    server.serve(listener, interrupted).await?;
    Ok(())
}
